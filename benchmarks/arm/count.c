/* A plugin of QEMU's user-mode emulator that counts instructions between marks, by class.
 *
 * A mark is the system call getpriority(0x716e6e00, id): a program that makes it runs the same
 * without the plugin. Each mark writes a line "mark ID COUNT...", with the number of instructions
 * of each class since the last mark. With the option profile=on, a line
 * "block ID ADDRESS INSTRUCTIONS EXECUTED" follows for each executed block.
 *
 * The declarations are those of version 1 of QEMU's interface (QEMU 4.2 to 8.2), so no package of
 * headers is needed. Other versions refuse the plugin with a message. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef uint64_t plugin_id;
typedef struct tb tb;
typedef struct insn insn;
typedef struct {
  const char *target_name;
  struct {
    int min, cur;
  } version;
  bool system_emulation;
  int smp_vcpus, max_vcpus;
} plugin_info;
typedef void (*tb_callback)(plugin_id, tb *);
typedef void (*syscall_callback)(plugin_id, unsigned, int64_t, uint64_t, uint64_t, uint64_t,
                                 uint64_t, uint64_t, uint64_t, uint64_t, uint64_t);
enum { INLINE_ADD_U64 = 0 };

extern void qemu_plugin_register_vcpu_tb_trans_cb(plugin_id, tb_callback);
extern void qemu_plugin_register_vcpu_tb_exec_inline(tb *, int, void *, uint64_t);
extern void qemu_plugin_register_vcpu_syscall_cb(plugin_id, syscall_callback);
extern size_t qemu_plugin_tb_n_insns(const tb *);
extern uint64_t qemu_plugin_tb_vaddr(const tb *);
extern insn *qemu_plugin_tb_get_insn(const tb *, size_t);
extern const void *qemu_plugin_insn_data(const insn *);

#define PUBLIC __attribute__((visibility("default")))
PUBLIC int qemu_plugin_version = 1;

/* The classes in the order of benchmarks/arm/counting.py. */
enum class {
  DOT,
  MATRIX,
  WIDENING_MULTIPLY,
  VECTOR_LOAD,
  VECTOR_STORE,
  OTHER_VECTOR,
  SCALAR_MEMORY,
  BRANCH,
  OTHER,
  CLASSES
};

typedef struct block {
  uint64_t address, instructions, executed, before, classes[CLASSES];
  struct block *next;
} block;

static block *blocks;
static FILE *out;
static bool is_64_bit, has_profile;

typedef struct {
  uint32_t mask, value;
  enum class class;
} pattern;

/* A64's patterns, from the Arm Architecture Reference Manual; the first match counts. */
static const pattern patterns[] = {
    {0x9F20FC00, 0x0E009400, DOT},               /* sdot, udot: vectors */
    {0x9F20FC00, 0x0E009C00, DOT},               /* usdot: vectors */
    {0x9F00F400, 0x0F00E000, DOT},               /* sdot, udot: by element */
    {0xBF00F400, 0x0F00F000, DOT},               /* usdot, sudot: by element */
    {0xDFE0F400, 0x4E80A400, MATRIX},            /* smmla, ummla, usmmla */
    {0x9F20FC00, 0x0E208000, WIDENING_MULTIPLY}, /* smlal, umlal: vectors */
    {0x9F20FC00, 0x0E20C000, WIDENING_MULTIPLY}, /* smull, umull: vectors */
    {0x9F00F400, 0x0F002000, WIDENING_MULTIPLY}, /* smlal, umlal: by element */
    {0x9F00F400, 0x0F00A000, WIDENING_MULTIPLY}, /* smull, umull: by element */
    {0x3F000000, 0x1C000000, VECTOR_LOAD},       /* literals */
    {0x0E400000, 0x0C400000, VECTOR_LOAD},
    {0x0E400000, 0x0C000000, VECTOR_STORE},
    {0x0A000000, 0x08000000, SCALAR_MEMORY},
    {0x0E000000, 0x0E000000, OTHER_VECTOR},
    {0x1C000000, 0x14000000, BRANCH},
};

static enum class class_of(uint32_t word) {
  for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++)
    if ((word & patterns[i].mask) == patterns[i].value) return patterns[i].class;
  return OTHER;
}

static void on_translation(plugin_id id, tb *translated) {
  block *it = calloc(1, sizeof *it);
  if (!it) abort();
  it->address = qemu_plugin_tb_vaddr(translated);
  it->instructions = qemu_plugin_tb_n_insns(translated);
  for (size_t i = 0; i < it->instructions; i++) {
    uint32_t word = 0;
    if (is_64_bit)
      memcpy(&word, qemu_plugin_insn_data(qemu_plugin_tb_get_insn(translated, i)), sizeof word);
    it->classes[is_64_bit ? class_of(word) : OTHER]++;
  }
  it->next = blocks;
  blocks = it;
  qemu_plugin_register_vcpu_tb_exec_inline(translated, INLINE_ADD_U64, &it->executed, 1);
}

static void on_mark(uint64_t mark) {
  uint64_t counts[CLASSES] = {0};
  for (block *it = blocks; it; it = it->next)
    for (int i = 0; i < CLASSES; i++) counts[i] += it->classes[i] * (it->executed - it->before);
  fprintf(out, "mark %" PRIu64, mark);
  for (int i = 0; i < CLASSES; i++) fprintf(out, " %" PRIu64, counts[i]);
  fputc('\n', out);
  for (block *it = blocks; it; it = it->next) {
    if (has_profile && it->executed != it->before)
      fprintf(out, "block %" PRIu64 " %" PRIx64 " %" PRIu64 " %" PRIu64 "\n", mark, it->address,
              it->instructions, it->executed - it->before);
    it->before = it->executed;
  }
  fflush(out);
}

static void on_syscall(plugin_id id, unsigned cpu, int64_t number, uint64_t a1, uint64_t a2,
                       uint64_t a3, uint64_t a4, uint64_t a5, uint64_t a6, uint64_t a7,
                       uint64_t a8) {
  if (number == (is_64_bit ? 141 : 96) && a1 == 0x716e6e00) on_mark(a2);
}

PUBLIC int qemu_plugin_install(plugin_id id, const plugin_info *info, int count, char **options) {
  is_64_bit = !strcmp(info->target_name, "aarch64");
  out = stderr;
  for (int i = 0; i < count; i++) {
    if (!strncmp(options[i], "out=", 4) && !(out = fopen(options[i] + 4, "w"))) return 1;
    if (!strcmp(options[i], "profile=on")) has_profile = true;
  }
  qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
  qemu_plugin_register_vcpu_syscall_cb(id, on_syscall);
  return 0;
}
