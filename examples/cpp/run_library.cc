// Runs a library that tvm-qnn exported for TVM's own runtime, on inputs from files.
//
//   library.export("model.so", format="tvm")           in Python, on the machine that compiles
//
//   ./run_library model.so [--repeat N] DTYPE:SHAPE:FILE...      on the device, as in
//   ./run_library model.so uint8:1x224x224x3:picture.bin
//
// Files hold raw elements. Outputs are written to output0.bin, output1.bin and so on.
// Needs libtvm_runtime.so and libtvm_ffi.so of the packages apache-tvm and apache-tvm-ffi, in the
// versions that compiled the library; the headers are those of apache-tvm-ffi:
//
//   FFI=$(python3 -c 'import tvm_ffi.libinfo as i; print(i.find_include_path())')
//   DLPACK=$(python3 -c 'import tvm_ffi.libinfo as i; print(i.find_dlpack_include_path())')
//   g++ -std=c++17 -O2 -I$FFI -I$DLPACK run_library.cc -o run_library
//       -Wl,--no-as-needed -L. -ltvm_runtime -ltvm_ffi -Wl,-rpath,'$ORIGIN'
//
// Without --no-as-needed the linker leaves out the runtime, because the program calls none of its
// functions by name. Loading the library then fails.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/extra/module.h>
#include <tvm/ffi/function.h>

namespace ffi = tvm::ffi;

constexpr size_t kAlignment = 64;  // what kernels may assume of every tensor
constexpr int kPooledAllocator = 2;

struct Allocator {
  void AllocData(DLTensor* tensor) {
    size_t size = (ffi::GetDataSize(*tensor) + kAlignment - 1) / kAlignment * kAlignment;
    tensor->data = std::aligned_alloc(kAlignment, size);
    if (!tensor->data) throw std::bad_alloc();
  }
  void FreeData(DLTensor* tensor) { std::free(tensor->data); }
};

DLDataType ParseDtype(const std::string& text) {
  static const std::map<std::string, DLDataType> known = {
      {"int8", {kDLInt, 8, 1}},     {"uint8", {kDLUInt, 8, 1}},   {"int16", {kDLInt, 16, 1}},
      {"int32", {kDLInt, 32, 1}},   {"int64", {kDLInt, 64, 1}},   {"bool", {kDLBool, 8, 1}},
      {"float32", {kDLFloat, 32, 1}}};
  auto found = known.find(text);
  if (found == known.end()) throw std::runtime_error("no dtype " + text);
  return found->second;
}

// A tensor from DTYPE:SHAPE:FILE.
ffi::Tensor ReadInput(const std::string& text) {
  std::stringstream fields(text);
  std::string dtype, shape, path, extent;
  if (!std::getline(fields, dtype, ':') || !std::getline(fields, shape, ':') ||
      !std::getline(fields, path))
    throw std::runtime_error("an input is DTYPE:SHAPE:FILE, got " + text);
  std::vector<int64_t> extents;
  std::stringstream axes(shape);
  while (std::getline(axes, extent, 'x')) extents.push_back(std::stoll(extent));
  ffi::Tensor tensor = ffi::Tensor::FromNDAlloc(Allocator(), ffi::Shape(extents),
                                                ParseDtype(dtype), DLDevice{kDLCPU, 0});
  std::streamsize size = ffi::GetDataSize(tensor);
  std::ifstream file(path, std::ios::binary);
  if (!file.read(static_cast<char*>(tensor.data_ptr()), size) || file.peek() != EOF)
    throw std::runtime_error(path + " does not have the " + std::to_string(size) +
                             " bytes of " + dtype + " " + shape);
  return tensor;
}

void WriteOutput(const ffi::Tensor& tensor, int number) {
  std::string path = "output" + std::to_string(number) + ".bin";
  std::ofstream file(path, std::ios::binary);
  file.write(static_cast<const char*>(tensor.data_ptr()), ffi::GetDataSize(tensor));
  if (!file.flush()) throw std::runtime_error("cannot write " + path);
}

int Run(int count, char** words) {
  std::vector<std::string> arguments(words + 1, words + count);
  if (arguments.empty()) {
    std::cerr << "usage: " << words[0] << " LIBRARY [--repeat N] DTYPE:SHAPE:FILE...\n";
    return 2;
  }
  int repeat = 1;
  if (arguments.size() > 2 && arguments[1] == "--repeat") {
    repeat = std::stoi(arguments[2]);
    arguments.erase(arguments.begin() + 1, arguments.begin() + 3);
  }
  // The system's loader looks for a bare name only among the system's libraries.
  std::string path = std::filesystem::absolute(arguments[0]).string();
  ffi::Module library = ffi::Module::LoadFromFile(path);
  ffi::Module machine =
      library->GetFunction("vm_load_executable", true).value()().cast<ffi::Module>();
  machine->GetFunction("vm_initialization", true)
      .value()(static_cast<int>(kDLCPU), 0, kPooledAllocator);
  ffi::Function model = machine->GetFunction("main", true).value();

  std::vector<ffi::Tensor> inputs;
  for (size_t i = 1; i < arguments.size(); i++) inputs.push_back(ReadInput(arguments[i]));
  std::vector<ffi::AnyView> views(inputs.begin(), inputs.end());
  ffi::Any result;
  for (int i = 0; i < repeat; i++) {
    auto start = std::chrono::steady_clock::now();
    model.CallPacked(views.data(), static_cast<int>(views.size()), &result);
    std::chrono::duration<double, std::milli> spent = std::chrono::steady_clock::now() - start;
    std::printf("%.3f ms\n", spent.count());
  }
  if (auto tensor = result.as<ffi::Tensor>()) {
    WriteOutput(*tensor, 0);
  } else {
    int number = 0;
    for (const ffi::Tensor& tensor : result.cast<ffi::Array<ffi::Tensor>>())
      WriteOutput(tensor, number++);
  }
  return 0;
}

int main(int count, char** words) {
  try {
    return Run(count, words);
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
