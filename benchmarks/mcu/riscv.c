/* The start of a program on an emulated RISC-V board, how it asks the host, and what it needs of a
 * C library, as there is none that is small. */
#include "board.h"

#include <string.h>

/* What comes before and after the break tells it from one for a debugger; all three lie in a page. */
__asm__(".balign 16\n"
        ".option push\n"
        ".option norvc\n"
        ".globl board_ask_host\n"
        "board_ask_host:\n"
        "  slli zero, zero, 0x1f\n"
        "  ebreak\n"
        "  srai zero, zero, 7\n"
        "  ret\n"
        ".option pop\n");

__asm__(".section .vectors, \"ax\"\n"
        ".option push\n"
        ".option arch, +zicsr\n"
        "  la sp, stack_high\n"
        "  la t0, on_trap\n"
        "  csrw mtvec, t0\n"
        "  j board_start\n"
        ".balign 4\n"
        "on_trap:\n"
        "  j board_fault\n"
        ".option pop\n"
        ".text\n");

void *memcpy(void *restrict to, const void *restrict from, size_t size) {
  char *written = to;
  const char *read = from;
  while (size--) *written++ = *read++;
  return to;
}

void *memset(void *to, int value, size_t size) {
  char *written = to;
  while (size--) *written++ = (char)value;
  return to;
}

size_t strlen(const char *text) {
  const char *end = text;
  while (*end) end++;
  return (size_t)(end - text);
}

/* Of uint8 networks, whose dense layers are scaled in float64. */
double trunc(double value);
double trunc(double value) {
  const double whole = 4503599627370496.0; /* from here on all are */
  return value > -whole && value < whole ? (double)(int64_t)value : value;
}
