// A model on TFLite Micro's interpreter, with the interface of an exported model.
#include <cstddef>
#include <cstdarg>
#include <cstdint>
#include <cstring>
#include <new>

#include "model.h"
#include "tensorflow/lite/micro/micro_interpreter.h"
#include "tensorflow/lite/micro/micro_mutable_op_resolver.h"

extern "C" {
extern const unsigned char model_data[];
int model_run(const void *const *inputs, void *const *outputs, void *workspace);
void __cxa_pure_virtual(void) {
  for (;;) {
  }
}
void abort(void) {
  for (;;) {
  }
}
void __assert_func(const char *, int, const char *, const char *) { abort(); }
}

void operator delete(void *) noexcept {}
void operator delete(void *, std::size_t) noexcept {}

void DebugLog(const char *, va_list) {}
void DebugVsnprintf(char *, std::size_t, const char *, va_list) {}

using Resolver = tflite::MicroMutableOpResolver<10>;

alignas(16) static unsigned char resolver_memory[sizeof(Resolver)];
alignas(16) static unsigned char interpreter_memory[sizeof(tflite::MicroInterpreter)];
static tflite::MicroInterpreter *interpreter;

// The first run makes the interpreter, so it is not the counted one.
static bool begin(void *arena) {
  Resolver &resolver = *new (resolver_memory) Resolver();
  resolver.AddAdd();
  resolver.AddAveragePool2D();
  resolver.AddConv2D();
  resolver.AddDepthwiseConv2D();
  resolver.AddDequantize();
  resolver.AddFullyConnected();
  resolver.AddMaxPool2D();
  resolver.AddQuantize();
  resolver.AddReshape();
  resolver.AddSoftmax();
  const tflite::Model *model = tflite::GetModel(model_data);
  interpreter = new (interpreter_memory) tflite::MicroInterpreter(
      model, resolver, static_cast<std::uint8_t *>(arena), MODEL_WORKSPACE_SIZE);
  return interpreter->AllocateTensors() == kTfLiteOk;
}

int model_run(const void *const *inputs, void *const *outputs, void *workspace) {
  if (!interpreter && !begin(workspace)) return 1;
  std::memcpy(interpreter->input(0)->data.raw, inputs[0], MODEL_INPUT_0_SIZE);
  if (interpreter->Invoke() != kTfLiteOk) return 2;
  std::memcpy(outputs[0], interpreter->output(0)->data.raw, MODEL_OUTPUT_0_SIZE);
  return 0;
}
