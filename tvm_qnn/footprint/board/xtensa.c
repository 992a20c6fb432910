/* The start of a program on an emulated Xtensa processor, and how it asks the host, which takes
 * other numbers than those of Arm and RISC-V. */
#include "board.h"

enum { OPEN = 0x01, CLOSE = 0x02, WRITE0 = 0x04, WRITE = 0x05, READ = 0x06 }; /* those of Arm */
enum { SIM_EXIT = 1, SIM_READ = 3, SIM_WRITE = 4, SIM_OPEN = 5, SIM_CLOSE = 6 };
enum { STDOUT = 1, MODE = 0666, NEW_FILE = 0x241 }; /* to write, made, emptied */

static int ask(int number, uint32_t first, uint32_t second, uint32_t third) {
  register int result __asm__("a2") = number;
  register uint32_t a3 __asm__("a3") = first;
  register uint32_t a4 __asm__("a4") = second;
  register uint32_t a5 __asm__("a5") = third;
  __asm__ volatile("simcall" : "+r"(result), "+r"(a3) : "r"(a4), "r"(a5) : "memory");
  return result;
}

int board_ask_host(int operation, const void *operands) {
  const uint32_t *words = operands;
  const char *text = operands;
  uint32_t size = 0;

  switch (operation) {
    case OPEN:
      return ask(SIM_OPEN, words[0], words[1] > 3 ? NEW_FILE : 0, MODE);
    case CLOSE:
      return ask(SIM_CLOSE, words[0], 0, 0);
    case READ: /* what is left is asked for */
      return (int)words[2] - ask(SIM_READ, words[0], words[1], words[2]);
    case WRITE:
      return (int)words[2] - ask(SIM_WRITE, words[0], words[1], words[2]);
    case WRITE0:
      while (text[size]) size++;
      return ask(SIM_WRITE, STDOUT, (uint32_t)text, size);
    default:
      return ask(SIM_EXIT, words[1], 0, 0);
  }
}

/* The compiler calls these functions. They lie in an ESP8266's ROM, so its library has none. */
uint64_t __umulsidi3(uint32_t a, uint32_t b);
uint64_t __umulsidi3(uint32_t a, uint32_t b) {
  const uint32_t low = (a & 0xFFFF) * (b & 0xFFFF), high = (a >> 16) * (b >> 16);
  const uint32_t left = (a >> 16) * (b & 0xFFFF), right = (a & 0xFFFF) * (b >> 16);
  const uint32_t middle = (low >> 16) + (left & 0xFFFF) + (right & 0xFFFF);
  const uint32_t top = high + (left >> 16) + (right >> 16) + (middle >> 16);
  return ((uint64_t)top << 32) | (middle << 16) | (low & 0xFFFF);
}

int64_t __muldi3(int64_t a, int64_t b);
int64_t __muldi3(int64_t a, int64_t b) {
  const uint32_t a_low = (uint32_t)a, b_low = (uint32_t)b;
  const uint32_t crossed = (uint32_t)(a >> 32) * b_low + a_low * (uint32_t)(b >> 32);
  return (int64_t)(__umulsidi3(a_low, b_low) + ((uint64_t)crossed << 32));
}

uint32_t __udivsi3(uint32_t a, uint32_t b);
uint32_t __udivsi3(uint32_t a, uint32_t b) {
  uint32_t quotient = 0, rest = 0;
  for (int bit = 31; bit >= 0; bit--) {
    rest = rest << 1 | (a >> bit & 1);
    quotient <<= 1;
    if (rest >= b) rest -= b, quotient |= 1;
  }
  return quotient;
}

int32_t __divsi3(int32_t a, int32_t b);
int32_t __divsi3(int32_t a, int32_t b) {
  const uint32_t quotient = __udivsi3(a < 0 ? -(uint32_t)a : (uint32_t)a,
                                      b < 0 ? -(uint32_t)b : (uint32_t)b);
  return (int32_t)((a < 0) == (b < 0) ? quotient : -quotient);
}

/* A literal lies before the instruction that loads it. */
__asm__(".section .vectors, \"ax\"\n"
        "  j begin\n"
        "  .balign 4\n"
        "stack: .word stack_high\n"
        "begin: l32r a1, stack\n"
        "  call0 board_start\n"
        ".text\n");
