/* What a program on an emulated board has beside the C library. */
#ifndef BOARD_H
#define BOARD_H
#include <stdint.h>

void board_mark(void); /* the plugin counts from one to the next */

/* Files of the host: 0 is success, but for board_open, which returns the file. */
int board_open(const char *name, int writes);
int board_read(int file, void *to, uint32_t size);
int board_write(int file, const void *from, uint32_t size);

void board_paint_stack(void);
uint32_t board_stack(void); /* bytes used since board_paint_stack, below the caller */

/* For what a family of processors does in its own way. */
int board_ask_host(int operation, const void *operands);
void board_start(void);
void board_fault(void);
#endif
