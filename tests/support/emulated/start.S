/* What an x86 processor begins with when its ROM is this: it goes to 64-bit mode, allows all the
 * vector registers that it has, loads and starts the program, and stops at a mark for the
 * emulator's debugger. */

  .section .note.GNU-stack, "", @progbits
  .section .rom, "ax"
rom:
  .code16
  cli
  lgdtl %cs:(gdt_pointer - rom)
  mov %cr0, %eax
  or $1, %eax
  mov %eax, %cr0
  ljmpl $8, $protected

  .code32
protected:
  mov $16, %eax
  mov %eax, %ds
  mov %eax, %es
  mov %eax, %ss
  /* Tables at 0x1000, 0x2000 and 0x3000: one GiB, addresses as they are, in pages of 2 MiB. */
  movl $0x2003, 0x1000
  movl $0x3003, 0x2000
  mov $0x83, %eax
  mov $0x3000, %edi
1:
  mov %eax, (%edi)
  add $0x200000, %eax
  add $8, %edi
  cmp $0x4000, %edi
  jne 1b
  mov $0x1000, %eax
  mov %eax, %cr3
  mov $0x620, %eax /* PAE, OSFXSR, OSXMMEXCPT */
  mov %eax, %cr4
  mov $0xC0000080, %ecx /* EFER: 64-bit mode */
  rdmsr
  or $0x100, %eax
  wrmsr
  mov $0x80000033, %eax /* PG, NE, ET, MP, PE */
  mov %eax, %cr0
  ljmp $24, $long_mode

  .code64
long_mode:
  mov $0x80000, %rsp
  lidt idt_pointer
  mov $1, %eax
  cpuid
  bt $26, %ecx /* XSAVE, without which there is no AVX */
  jnc 2f
  mov %cr4, %rax
  or $0x40000, %rax /* OSXSAVE */
  mov %rax, %cr4
  mov $13, %eax
  xor %ecx, %ecx
  cpuid
  and $0x600E7, %eax /* of x87, SSE, AVX, AVX512 and AMX what there is */
  xor %ecx, %ecx
  xor %edx, %edx
  xsetbv
2:
  call load
  call start

  .globl stop
stop:
  xchg %bx, %bx /* the mark */
  hlt
  jmp stop

  /* Of every exception: push its number. */
  .set i, 0
  .balign 8
stubs:
  .rept 32
  .balign 8
  push $i
  jmp trap
  .set i, i + 1
  .endr
trap:
  mov %rsp, %rdi
  mov %cr2, %rsi
  and $-16, %rsp
  call trapped

  .balign 8
gdt: /* none, code of 32 bits, data, code of 64 bits */
  .quad 0, 0x00CF9B000000FFFF, 0x00CF93000000FFFF, 0x00AF9B000000FFFF
gdt_pointer:
  .word 31
  .long gdt
idt:
  .set i, 0
  .rept 32
  .word stubs - rom + 8 * i, 24, 0x8E00, 0xF
  .quad 0
  .set i, i + 1
  .endr
idt_pointer:
  .word 511
  .quad idt

  .org rom + 0xFFF0 /* where the processor begins */
  .code16
  ljmp $0xF000, $0
  .org rom + 0x10000
