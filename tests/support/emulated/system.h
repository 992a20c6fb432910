/* What main.c needs of the machine it runs on: Linux, or a processor with nothing on it. */
#ifndef SYSTEM_H
#define SYSTEM_H

#include <stddef.h>
#include <stdint.h>

/* Memory that ends where a page begins that nothing may touch, and that follows such a page. */
typedef struct {
  uint8_t *pages, *end;
} block;

block take_block(size_t size);
void give_back(block it);

/* Memory at a multiple of 64 bytes. */
void *take_memory(size_t size);
void give_back_memory(void *memory);

void get(void *to, size_t size);
void put(const void *from, size_t size);
void say(const char *what);
_Noreturn void fail(const char *what);

/* Tells those who count instructions where a call begins and ends. */
void mark(long id);

#endif
