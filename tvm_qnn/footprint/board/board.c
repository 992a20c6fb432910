/* Files of the host by semihosting, marks, and the stack, for programs on any emulated board. */
#include "board.h"

#include <string.h>

extern uint32_t stack_low[];
extern int main(void);

enum { OPEN = 0x01, CLOSE = 0x02, WRITE0 = 0x04, WRITE = 0x05, READ = 0x06, EXIT = 0x20 };
enum { READ_BINARY = 1, WRITE_BINARY = 5 };
enum { PAINT = 0x5AFE5AFE, NEAR = 32 };

static void end(int status) {
  const uint32_t why[] = {0x20026, (uint32_t)status};
  board_ask_host(EXIT, why);
  for (;;) {
  }
}

void board_start(void) { end(main()); }

void board_fault(void) {
  board_ask_host(WRITE0, "the processor faulted\n");
  end(70);
}

__attribute__((noinline)) void board_mark(void) { __asm__ volatile("nop"); }

int board_open(const char *name, int writes) {
  const uint32_t operands[] = {(uint32_t)name, writes ? WRITE_BINARY : READ_BINARY, strlen(name)};
  return board_ask_host(OPEN, operands);
}

int board_read(int file, void *to, uint32_t size) {
  const uint32_t operands[] = {(uint32_t)file, (uint32_t)to, size};
  return board_ask_host(READ, operands);
}

int board_write(int file, const void *from, uint32_t size) {
  const uint32_t operands[] = {(uint32_t)file, (uint32_t)from, size};
  return board_ask_host(WRITE, operands);
}

__attribute__((noinline)) void board_paint_stack(void) {
  uint32_t *top = __builtin_frame_address(0);
  for (volatile uint32_t *word = stack_low; word < top - NEAR; word++) *word = PAINT;
}

__attribute__((noinline)) uint32_t board_stack(void) {
  const uint32_t *word = stack_low, *top = __builtin_frame_address(0);
  while (word < top && *word == PAINT) word++;
  return (uint32_t)((const char *)top - (const char *)word);
}
