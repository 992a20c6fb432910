/* The start of a program on an emulated RISC-V board, and how it asks the host. */
#include "board.h"

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
