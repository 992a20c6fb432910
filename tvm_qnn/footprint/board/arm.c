/* The start of a program on an emulated Cortex-M board, and how it asks the host. */
#include "board.h"

extern uint32_t stack_high[];

int board_ask_host(int operation, const void *operands) {
  register int number __asm__("r0") = operation;
  register const void *block __asm__("r1") = operands;
  __asm__ volatile("bkpt 0xAB" : "+r"(number) : "r"(block) : "memory");
  return number;
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
  board_start();
}

__attribute__((section(".vectors"), used)) static const void *const vectors[16] = {
    stack_high, (const void *)on_reset, (const void *)board_fault, (const void *)board_fault,
    (const void *)board_fault, (const void *)board_fault, (const void *)board_fault};
