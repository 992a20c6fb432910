/* A plugin of QEMU's system emulator that counts instructions between marks.
 *
 * A mark is a call of an empty function, at the address of the option mark=0x…. At each, a line
 * "mark COUNT" is written to the file of the option out=, with the instructions since the last one;
 * before it, a line "block ADDRESS COUNT" for each block of code that ran since then.
 *
 * The declarations are those of version 1 of QEMU's interface (QEMU 4.2 to 8.2), so that no
 * package of headers is needed; other versions refuse the plugin with a message. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef uint64_t plugin_id;
typedef struct tb tb;
typedef struct insn insn;
enum { NO_REGISTERS = 0, INLINE_ADD_U64 = 0 };

extern void qemu_plugin_register_vcpu_tb_trans_cb(plugin_id, void (*)(plugin_id, tb *));
extern void qemu_plugin_register_vcpu_tb_exec_inline(tb *, int, void *, uint64_t);
extern void qemu_plugin_register_vcpu_insn_exec_cb(insn *, void (*)(unsigned, void *), int, void *);
extern size_t qemu_plugin_tb_n_insns(const tb *);
extern uint64_t qemu_plugin_tb_vaddr(const tb *);
extern insn *qemu_plugin_tb_get_insn(const tb *, size_t);
extern uint64_t qemu_plugin_insn_vaddr(const insn *);

#define PUBLIC __attribute__((visibility("default")))
PUBLIC int qemu_plugin_version = 1;

typedef struct block {
  uint64_t address, instructions, executed;
  struct block *next;
} block;

static block *blocks;
static FILE *out;
static uint64_t mark;

static void on_mark(unsigned cpu, void *data) {
  uint64_t total = 0;
  (void)cpu, (void)data;
  for (block *it = blocks; it; it = it->next) {
    const uint64_t count = it->instructions * it->executed;
    if (count) fprintf(out, "block %" PRIx64 " %" PRIu64 "\n", it->address, count);
    total += count;
    it->executed = 0;
  }
  fprintf(out, "mark %" PRIu64 "\n", total);
  fflush(out);
}

static void on_translation(plugin_id id, tb *translated) {
  block *it = calloc(1, sizeof *it);
  (void)id;
  if (!it) abort();
  it->address = qemu_plugin_tb_vaddr(translated);
  it->instructions = qemu_plugin_tb_n_insns(translated);
  it->next = blocks;
  blocks = it;
  for (size_t i = 0; i < it->instructions; i++) {
    insn *each = qemu_plugin_tb_get_insn(translated, i);
    if (qemu_plugin_insn_vaddr(each) == mark)
      qemu_plugin_register_vcpu_insn_exec_cb(each, on_mark, NO_REGISTERS, NULL);
  }
  qemu_plugin_register_vcpu_tb_exec_inline(translated, INLINE_ADD_U64, &it->executed, 1);
}

PUBLIC int qemu_plugin_install(plugin_id id, const void *info, int count, char **options) {
  (void)info;
  out = stderr;
  for (int i = 0; i < count; i++) {
    if (!strncmp(options[i], "out=", 4) && !(out = fopen(options[i] + 4, "w"))) return 1;
    if (!strncmp(options[i], "mark=", 5)) mark = strtoull(options[i] + 5, NULL, 0);
  }
  qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
  return 0;
}
