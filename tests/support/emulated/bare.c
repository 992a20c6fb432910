/* A processor with nothing on it. A disk has the program and the calls; the emulator takes the
 * answer from memory: tests/support/bochs.py says the same address. */
#include "system.h"

enum { ALIGNMENT = 64, PAGE = 4096, LARGE_PAGE = 2 << 20, PRESENT = 3, SECTOR = 512 };

#define DISK_HEADER ((uint8_t *)0x7000)
#define PROGRAM ((uint8_t *)0x100000)
#define BLOCKS ((uint8_t *)0x8000000)
#define HEAP ((uint8_t *)0xC000000)
#define ANSWER ((uint8_t *)0x10000000)
#define CALLS ((uint8_t *)0x14000000)
#define LARGE_PAGES ((uint64_t *)0x3000)
enum { SIZE = 0x4000000 }; /* of each but the last */

int main(void);
_Noreturn void stop(void);

/* What the answer begins with: 1 after success, and what was said. */
static struct {
  int64_t is_done;
  char said[PAGE - sizeof(int64_t)];
} *const report = (void *)ANSWER;

static uint64_t small_pages[SIZE / PAGE] __attribute__((aligned(PAGE)));
static uint8_t *next_block = BLOCKS, *next_memory = HEAP, *next_answer = ANSWER + PAGE;
static const uint8_t *next_call = CALLS;
static int blocks, memories;

#define ROM __attribute__((section(".rom.load"))) /* there before the program is */

ROM static void out(uint16_t port, uint8_t value) {
  __asm__ volatile("outb %0, %1" : : "a"(value), "Nd"(port));
}

ROM static void read_disk(uint32_t first, uint32_t count, uint8_t *to) {
  for (; count; first++, count--) {
    out(0x1F2, 1);
    out(0x1F3, first);
    out(0x1F4, first >> 8);
    out(0x1F5, first >> 16);
    out(0x1F6, 0xE0 | first >> 24);
    out(0x1F7, 0x20); /* READ SECTORS */
    uint8_t status;
    do __asm__ volatile("inb %1, %0" : "=a"(status) : "Nd"((uint16_t)0x1F7));
    while ((status & 0x88) != 8); /* busy, or no data yet */
    uint64_t words = SECTOR / 2;
    __asm__ volatile("rep insw"
                     : "+D"(to), "+c"(words)
                     : "d"((uint16_t)0x1F0)
                     : "memory");
  }
}

/* The disk's first sector tells how many the program and the calls have, which follow. */
ROM void load(void) {
  read_disk(0, 1, DISK_HEADER);
  const uint32_t *sectors = (const uint32_t *)DISK_HEADER;
  read_disk(1, sectors[0], PROGRAM);
  read_disk(1 + sectors[0], sectors[1], CALLS);
}

void *memcpy(void *restrict to, const void *restrict from, size_t size) {
  void *result = to;
  __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(size) : : "memory");
  return result;
}

void *memset(void *to, int value, size_t size) {
  void *result = to;
  __asm__ volatile("rep stosb" : "+D"(to), "+c"(size) : "a"(value) : "memory");
  return result;
}

void say(const char *what) {
  static size_t length;
  while (*what && length < sizeof report->said - 1) report->said[length++] = *what++;
}

void fail(const char *what) {
  say(what);
  stop();
}

static void say_number(uint64_t value) {
  char text[] = "0x0000000000000000";
  for (int i = 17; i > 1; i--, value >>= 4) text[i] = "0123456789abcdef"[value & 15];
  say(text);
}

/* After an exception: what the processor and the stub pushed, and the address that was touched. */
_Noreturn void trapped(const uint64_t *pushed, uint64_t address) {
  uint64_t number = pushed[0];
  int has_code = 0x227D00 >> number & 1;
  say(number == 6    ? "an instruction that the processor lacks"
      : number == 14 ? "memory that is not its own, "
                     : "exception ");
  if (number != 6) say_number(number == 14 ? address : number);
  say(", at ");
  say_number(pushed[1 + has_code]);
  stop();
}

void get(void *to, size_t size) {
  memcpy(to, next_call, size);
  next_call += size;
}

void put(const void *from, size_t size) {
  if (next_answer + size > ANSWER + SIZE) fail("the answer is too long");
  memcpy(next_answer, from, size);
  next_answer += size;
}

static void set_page(uint8_t *page, int flags) {
  small_pages[(page - BLOCKS) / PAGE] = (uint64_t)page | flags;
  __asm__ volatile("invlpg (%0)" : : "r"(page) : "memory");
}

block take_block(size_t size) {
  uint8_t *pages = next_block, *end = pages + PAGE + (size + PAGE - 1) / PAGE * PAGE;
  if (end + PAGE > BLOCKS + SIZE) fail("no memory");
  set_page(pages, 0);
  set_page(end, 0);
  next_block = end + PAGE;
  blocks++;
  return (block){pages, end};
}

void give_back(block it) {
  set_page(it.pages, PRESENT);
  set_page(it.end, PRESENT);
  if (--blocks == 0) next_block = BLOCKS;
}

void *take_memory(size_t size) {
  uint8_t *memory = next_memory;
  if (memory + size > HEAP + SIZE) return NULL;
  next_memory += (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  memories++;
  return memory;
}

void give_back_memory(void *memory) {
  if (--memories == 0) next_memory = HEAP;
}

void mark(long id) {}

/* Asks Linux to allow what start.S has allowed. */
long syscall(long number, ...) { return 0; }

void start(void) {
  for (size_t i = 0; i < SIZE / PAGE; i++) set_page(BLOCKS + i * PAGE, PRESENT);
  for (size_t i = 0; i < SIZE / LARGE_PAGE; i++) {
    uint64_t table = (uint64_t)(small_pages + i * (LARGE_PAGE / PAGE));
    LARGE_PAGES[(uint64_t)BLOCKS / LARGE_PAGE + i] = table | PRESENT;
  }
  __asm__ volatile("mov %%cr3, %%rax; mov %%rax, %%cr3" : : : "rax", "memory");
  report->is_done = main() == 0;
}
