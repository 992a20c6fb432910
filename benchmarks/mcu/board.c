/* The start of a program on an emulated Cortex-M board, and files of the host by semihosting. */
#include "board.h"

#include <string.h>

extern uint32_t stack_low[], stack_high[];
extern int main(void);

enum { OPEN = 0x01, CLOSE = 0x02, WRITE0 = 0x04, WRITE = 0x05, READ = 0x06, EXIT = 0x20 };
enum { READ_BINARY = 1, WRITE_BINARY = 5 };
enum { PAINT = 0x5AFE5AFE, NEAR = 32 };

static int ask_host(int operation, const void *operands) {
  register int number __asm__("r0") = operation;
  register const void *block __asm__("r1") = operands;
  __asm__ volatile("bkpt 0xAB" : "+r"(number) : "r"(block) : "memory");
  return number;
}

static void end(int status) {
  const uint32_t why[] = {0x20026, (uint32_t)status};
  ask_host(EXIT, why);
  for (;;) {
  }
}

static void on_fault(void) {
  ask_host(WRITE0, "the processor faulted\n");
  end(70);
}

static void on_reset(void) {
  volatile uint32_t *const access = (volatile uint32_t *)0xE000ED88;
  *access |= 0xF << 20; /* of floating point and vectors, where there are any */
  __asm__ volatile("dsb\n isb");
#ifdef __ARM_FEATURE_MVE
  volatile uint32_t *const configuration = (volatile uint32_t *)0xE000ED14;
  *configuration |= 1 << 19; /* loops without overhead */
  __asm__ volatile("dsb\n isb");
#endif
  end(main());
}

__attribute__((section(".vectors"), used)) static const void *const vectors[16] = {
    stack_high, (const void *)on_reset, (const void *)on_fault, (const void *)on_fault,
    (const void *)on_fault, (const void *)on_fault, (const void *)on_fault};

__attribute__((noinline)) void board_mark(void) { __asm__ volatile("nop"); }

int board_open(const char *name, int writes) {
  const uint32_t operands[] = {(uint32_t)name, writes ? WRITE_BINARY : READ_BINARY, strlen(name)};
  return ask_host(OPEN, operands);
}

int board_read(int file, void *to, uint32_t size) {
  const uint32_t operands[] = {(uint32_t)file, (uint32_t)to, size};
  return ask_host(READ, operands);
}

int board_write(int file, const void *from, uint32_t size) {
  const uint32_t operands[] = {(uint32_t)file, (uint32_t)from, size};
  return ask_host(WRITE, operands);
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
