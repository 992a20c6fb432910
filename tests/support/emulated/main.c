/* Calls compiled functions without TVM's runtime: reads calls from standard input, and writes what
 * each leaves in its outputs to standard output. tests/support/arm.py writes and reads the streams.
 *
 * A call is a sequence of int64: the function's number, the count of its arguments, and for each
 * the kind (0 input, 1 output), the codes of DLDataType, the count of dimensions and these; an
 * input's bytes follow. The answer for each output is its block with what surrounds it. */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <tvm/ffi/c_api.h>
#include <unistd.h>

enum { ALIGNMENT = 64, MAX_ARGUMENTS = 64, MAX_DIMENSIONS = 8, PAGE = 4096 };

typedef int (*function)(void *self, const TVMFFIAny *args, int32_t count, TVMFFIAny *result);
extern const function functions[];

typedef struct {
  int64_t kind, shape[MAX_DIMENSIONS], size;
  uint8_t *pages, *data;
  size_t whole;
  DLTensor tensor;
} argument;

static void fail(const char *what) {
  fprintf(stderr, "%s\n", what);
  exit(3);
}

static void get(void *to, size_t size) {
  if (size && fread(to, 1, size, stdin) != size) fail("the calls end too early");
}

static int64_t number(void) {
  int64_t value;
  get(&value, sizeof value);
  return value;
}

static size_t padded(int64_t size) { return (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT; }

/* A block that ends where a page begins that nothing may touch, and that follows such a page. */
static void allocate(argument *it) {
  size_t pages = (padded(it->size) + ALIGNMENT + PAGE - 1) / PAGE * PAGE;
  it->whole = pages + 2 * PAGE;
  it->pages = mmap(0, it->whole, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (it->pages == MAP_FAILED || mprotect(it->pages + PAGE, pages, PROT_READ | PROT_WRITE))
    fail("no memory");
  it->data = it->pages + PAGE + pages - padded(it->size);
  memset(it->data - ALIGNMENT, 0xA5, ALIGNMENT + padded(it->size));
}

static void read_argument(argument *it) {
  it->kind = number();
  it->tensor.dtype.code = number();
  it->tensor.dtype.bits = number();
  it->tensor.dtype.lanes = 1;
  it->tensor.ndim = number();
  it->size = it->tensor.dtype.bits / 8;
  for (int i = 0; i < it->tensor.ndim; i++) it->size *= it->shape[i] = number();
  allocate(it);
  if (it->kind == 0) get(it->data, it->size);
  it->tensor.data = it->data;
  it->tensor.shape = it->shape;
  it->tensor.device.device_type = kDLCPU;
}

/* Seen by a plugin that counts instructions between marks; no effect otherwise. */
static void mark(long id) { syscall(SYS_getpriority, 0x716e6e00L, id); }

int main(void) {
  static argument arguments[MAX_ARGUMENTS];
  TVMFFIAny values[MAX_ARGUMENTS], result;
  for (int64_t calls = number(), i = 0; i < calls; i++) {
    function called = functions[number()];
    int64_t count = number();
    memset(arguments, 0, sizeof arguments);
    memset(values, 0, sizeof values);
    memset(&result, 0, sizeof result);
    for (int64_t j = 0; j < count; j++) {
      read_argument(&arguments[j]);
      values[j].type_index = kTVMFFIDLTensorPtr;
      values[j].v_ptr = &arguments[j].tensor;
    }
    mark(2 * i);
    int code = called(NULL, values, count, &result);
    mark(2 * i + 1);
    if (code) fail("the function returned an error");
    for (int64_t j = 0; j < count; j++) {
      if (arguments[j].kind == 1)
        fwrite(arguments[j].data - ALIGNMENT, 1, ALIGNMENT + padded(arguments[j].size), stdout);
      munmap(arguments[j].pages, arguments[j].whole);
    }
  }
  return fflush(stdout) != 0;
}

/* What compiled functions call of TVM's runtime. */

void TVMFFIErrorSetRaisedFromCStr(const char *kind, const char *message) {
  fprintf(stderr, "%s: %s\n", kind, message);
}

void TVMFFIErrorSetRaisedFromCStrParts(const char *kind, const char **parts, int32_t count) {
  fprintf(stderr, "%s: ", kind);
  for (int32_t i = 0; i < count; i++) fputs(parts[i], stderr);
  fputc('\n', stderr);
}

void *TVMBackendAllocWorkspace(int type, int id, uint64_t size, int code, int bits) {
  void *memory = NULL;
  return posix_memalign(&memory, ALIGNMENT, padded(size)) ? NULL : memory;
}

int TVMBackendFreeWorkspace(int type, int id, void *memory) {
  free(memory);
  return 0;
}

/* As many tasks as asked for, one after the other; three where TVM may choose. */
int TVMBackendParallelLaunch(int (*task)(int, void *, void *), void *closure, int tasks) {
  struct {
    void *sync;
    int32_t tasks;
  } group = {NULL, tasks ? tasks : 3};
  for (int i = 0; i < group.tasks; i++)
    if (task(i, &group, closure)) return -1;
  return 0;
}

/* Compiled functions reach these through pointers of these names, which TVM's runtime would set. */
int (*__TVMBackendParallelLaunch)(int (*)(int, void *, void *), void *, int) =
    TVMBackendParallelLaunch;
void *(*__TVMBackendAllocWorkspace)(int, int, uint64_t, int, int) = TVMBackendAllocWorkspace;
int (*__TVMBackendFreeWorkspace)(int, int, void *) = TVMBackendFreeWorkspace;
