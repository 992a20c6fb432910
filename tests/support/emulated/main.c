/* Calls compiled functions without TVM's runtime: reads calls, and writes what each leaves in its
 * outputs. tests/support/programs.py writes and reads the streams.
 *
 * A call is a sequence of int64: the function's number, the count of its arguments, and for each
 * the kind (0 input, 1 output), the codes of DLDataType, the count of dimensions and these; an
 * input's bytes follow. The answer for each output is its block with what surrounds it. */
#include "system.h"

#include <string.h>
#include <tvm/ffi/c_api.h>

enum { ALIGNMENT = 64, MAX_ARGUMENTS = 64, MAX_DIMENSIONS = 8 };

typedef int (*function)(void *self, const TVMFFIAny *args, int32_t count, TVMFFIAny *result);
extern const function functions[];

typedef struct {
  int64_t kind, shape[MAX_DIMENSIONS], size;
  uint8_t *data;
  block block;
  DLTensor tensor;
} argument;

static int64_t number(void) {
  int64_t value;
  get(&value, sizeof value);
  return value;
}

static size_t padded(int64_t size) { return (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT; }

static void allocate(argument *it) {
  it->block = take_block(padded(it->size) + ALIGNMENT);
  it->data = it->block.end - padded(it->size);
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
        put(arguments[j].data - ALIGNMENT, ALIGNMENT + padded(arguments[j].size));
      give_back(arguments[j].block);
    }
  }
  return 0;
}

/* What compiled functions call of TVM's runtime. */

void TVMFFIErrorSetRaisedFromCStr(const char *kind, const char *message) {
  say(kind);
  say(": ");
  say(message);
}

void TVMFFIErrorSetRaisedFromCStrParts(const char *kind, const char **parts, int32_t count) {
  say(kind);
  say(": ");
  for (int32_t i = 0; i < count; i++) say(parts[i]);
}

void *TVMBackendAllocWorkspace(int type, int id, uint64_t size, int code, int bits) {
  return take_memory(padded(size));
}

int TVMBackendFreeWorkspace(int type, int id, void *memory) {
  give_back_memory(memory);
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
