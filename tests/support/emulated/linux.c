/* The calls come from standard input, the answers go to standard output. */
#define _GNU_SOURCE
#include "system.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { ALIGNMENT = 64, PAGE = 4096 };

void say(const char *what) { fputs(what, stderr); }

void fail(const char *what) {
  fprintf(stderr, "%s\n", what);
  exit(3);
}

void get(void *to, size_t size) {
  if (size && fread(to, 1, size, stdin) != size) fail("the calls end too early");
}

void put(const void *from, size_t size) {
  if (fwrite(from, 1, size, stdout) != size) fail("the answer cannot be written");
}

block take_block(size_t size) {
  size_t inside = (size + PAGE - 1) / PAGE * PAGE;
  uint8_t *pages = mmap(0, inside + 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED || mprotect(pages + PAGE, inside, PROT_READ | PROT_WRITE))
    fail("no memory");
  return (block){pages, pages + PAGE + inside};
}

void give_back(block it) { munmap(it.pages, it.end + PAGE - it.pages); }

void *take_memory(size_t size) {
  void *memory = NULL;
  return posix_memalign(&memory, ALIGNMENT, size) ? NULL : memory;
}

void give_back_memory(void *memory) { free(memory); }

/* Seen by a plugin that counts instructions between marks; no effect otherwise. */
void mark(long id) { syscall(SYS_getpriority, 0x716e6e00L, id); }
