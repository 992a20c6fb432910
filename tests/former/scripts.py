"""Scripts as they were written for TVM's Relay; the tests change their import lines alone.

Each finds ``DATA`` and, where it reads a model, ``MODEL``; it leaves ``result``.
"""

TFLITE = """
import tflite
import tvm
from tvm import relay
from tvm.contrib import graph_executor

with open(MODEL, "rb") as file:
    model = tflite.Model.GetRootAsModel(file.read(), 0)
mod, params = relay.frontend.from_tflite(
    model, shape_dict={"input": DATA.shape}, dtype_dict={"input": str(DATA.dtype)}
)
with tvm.transform.PassContext(opt_level=3):
    lib = relay.build(mod, target=tvm.target.Target("llvm", host="llvm"), params=params)
dev = tvm.device("llvm", 0)
module = graph_executor.GraphModule(lib["default"](dev))
module.set_input("input", tvm.nd.array(DATA, dev))
module.run()
result = module.get_output(0).asnumpy()
"""

MXNET = """
import numpy as np
import tvm
import tvm.relay as relay
import tvm.contrib.graph_runtime as runtime

sym, arg_params, aux_params = mx.model.load_checkpoint(MODEL, 0)
mod, params = relay.frontend.from_mxnet(
    sym, {"data": DATA.shape}, arg_params=arg_params, aux_params=aux_params
)
with relay.build_config(opt_level=3):
    graph, lib, params = relay.build(mod, "llvm", params=params)
ctx = tvm.cpu(0)
m = runtime.create(graph, lib, ctx)
m.set_input("data", tvm.nd.array(DATA.astype("float32")))
m.set_input(**params)
m.run()
result = np.asarray(m.get_output(0).asnumpy())
"""

ONNX = """
import onnx
import tvm
from tvm import relay

model = onnx.load(MODEL)
name = model.graph.input[0].name
mod, params = relay.frontend.from_onnx(model, {name: DATA.shape}, dtype="float32")
mod = tvm.transform.Sequential(
    [relay.transform.InferType(), relay.transform.FakeQuantizationToInteger()]
)(mod)
with tvm.transform.PassContext(opt_level=3, disabled_pass=["AlterOpLayout"]):
    executor = relay.build_module.create_executor("graph", mod, tvm.cpu(0), "llvm", params)
    result = executor.evaluate()(tvm.nd.array(DATA)).numpy()
"""

PYTORCH = """
import torch
import tvm
from tvm import relay
from tvm.contrib.graph_executor import GraphModule

torch.backends.quantized.engine = "fbgemm"
network = torch.ao.quantization.QuantWrapper(
    torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3, stride=2), torch.nn.ReLU(), torch.nn.MaxPool2d(2))
).eval()
network.qconfig = torch.ao.quantization.get_default_qconfig("fbgemm")
torch.ao.quantization.fuse_modules(network.module, ["0", "1"], inplace=True)
torch.ao.quantization.prepare(network, inplace=True)
network(torch.from_numpy(DATA))
torch.ao.quantization.convert(network, inplace=True)
script_module = torch.jit.trace(network, torch.from_numpy(DATA)).eval()
expected = network(torch.from_numpy(DATA)).numpy()

mod, params = relay.frontend.from_pytorch(script_module, [("input", DATA.shape)])
with tvm.transform.PassContext(opt_level=3):
    lib = relay.build(mod, target="llvm -mcpu=skylake-avx512", params=params)
runtime = GraphModule(lib["default"](tvm.cpu(0)))
runtime.set_input("input", DATA)
runtime.run()
result = runtime.get_output(0).numpy()
"""

VM = """
import tvm
from tvm import relay
from tvm.runtime.vm import VirtualMachine

with open(MODEL, "rb") as file:
    mod, params = relay.frontend.from_tflite(file.read())
with tvm.transform.PassContext(opt_level=3, disabled_pass=["FoldScaleAxis"]):
    vm_exec = relay.vm.compile(mod, target="llvm", params=params)
dev = tvm.cpu()
vm = VirtualMachine(vm_exec, dev)
vm.set_input("main", **{"input": DATA})
result = vm.run().numpy()
assert (vm.get_outputs()[0].numpy() == result).all()
assert (vm.invoke("main", tvm.nd.array(DATA)).numpy() == result).all()
print(vm.benchmark(dev, DATA, repeat=2, number=1))
"""

RPC = """
import tvm
from tvm import relay, rpc
from tvm.contrib import graph_executor as runtime, utils

with open(MODEL, "rb") as file:
    mod, params = relay.frontend.from_tflite(file.read())
with tvm.transform.PassContext(opt_level=3):
    lib = relay.build(mod, target="llvm", params=params)
tmp = utils.tempdir()
lib_fname = tmp.relpath("net.tar")
lib.export_library(lib_fname)

remote = rpc.LocalSession()
remote.upload(lib_fname)
rlib = remote.load_module("net.tar")
dev = remote.cpu(0)
module = runtime.GraphModule(rlib["default"](dev))
module.set_input("input", tvm.nd.array(DATA))
module.run()
result = module.get_output(0).numpy()
timer = module.module.time_evaluator("run", dev, number=1, repeat=2)
print("%.3f ms" % (timer().mean * 1000))
"""

BY_HAND = """
import numpy as np
import tvm
from tvm import relay

weights = np.arange(-12, 12).reshape(2, 3, 2, 2).astype("int8")
x = relay.var("x", shape=DATA.shape, dtype="float32")
scale, zero = relay.const(0.25, "float32"), relay.const(0, "int32")
q = relay.qnn.op.quantize(x, scale, relay.const(5, "int32"), out_dtype="uint8")
conv = relay.qnn.op.conv2d(
    q,
    relay.var("w", relay.TensorType(weights.shape, "int8")),
    input_zero_point=relay.const(5, "int32"),
    kernel_zero_point=zero,
    input_scale=scale,
    kernel_scale=relay.const(0.5, "float32"),
    kernel_size=(2, 2),
    channels=2,
    padding=(1, 1),
    out_dtype="int32",
)
conv = relay.nn.bias_add(conv, relay.const(np.array([100, -100], "int32")))
out = relay.qnn.op.requantize(
    conv, relay.const(0.125, "float32"), zero, relay.const(2.0, "float32"), zero, out_dtype="int8"
)
out = relay.qnn.op.dequantize(relay.nn.relu(out), relay.const(2.0, "float32"), zero)
mod = tvm.IRModule.from_expr(relay.Function(relay.analysis.free_vars(out), out))
mod = relay.transform.InferType()(mod)
assert mod["main"].body.checked_type.dtype == "float32"
print(mod.astext(show_meta_data=False))
graph, lib, params = relay.build(mod, target="llvm", params={"w": tvm.nd.array(weights)})
module = tvm.contrib.graph_executor.create(graph, lib, tvm.cpu(0))
module.set_input("x", DATA)
module.set_input(**params)
module.run()
result = module.get_output(0, tvm.nd.empty((1, 2, 5, 5))).numpy()
"""

THREE_FILES = """
import numpy as np
import tvm
from tvm import relay
from tvm.contrib import graph_runtime, util

with open(MODEL, "rb") as file:
    mod, params = relay.frontend.from_tflite(file.read())
with relay.build_config(opt_level=3):
    graph, lib, params = relay.build_module.build(mod, "llvm", params=params)
temp = util.tempdir()
lib.export_library(temp.relpath("deploy_lib.so"))
with open(temp.relpath("deploy_graph.json"), "w") as fo:
    fo.write(graph)
with open(temp.relpath("deploy_param.params"), "wb") as fo:
    fo.write(relay.save_param_dict(params))

loaded_json = open(temp.relpath("deploy_graph.json")).read()
loaded_lib = tvm.runtime.load_module(temp.relpath("deploy_lib.so"))
loaded_params = bytearray(open(temp.relpath("deploy_param.params"), "rb").read())
module = graph_runtime.create(loaded_json, loaded_lib, tvm.cpu(0))
module.load_params(loaded_params)
module.run(input=DATA)
result = module.get_output(0).asnumpy()
"""

DEBUGGER = """
import tvm
from tvm import relay
from tvm.contrib.debugger import debug_executor
from tvm.contrib.debugger.debug_executor import GraphModuleDebug

with open(MODEL, "rb") as file:
    mod, params = relay.frontend.from_tflite(file.read())
with tvm.transform.PassContext(opt_level=3):
    lib = relay.build(mod, "llvm", params=params)
dev = tvm.cpu(0)
m = debug_executor.create(lib.get_graph_json(), lib.get_lib(), dev, dump_root="/tmp/tvmdbg")
m.set_input("input", DATA)
m.set_input(**lib.get_params())
m.run()
result = m.get_output(0).numpy()
again = GraphModuleDebug(lib["debug_create"]("default", dev), [dev], lib.get_graph_json(), ".")
again.run(input=DATA)
assert (again.get_output(0).numpy() == result).all()
print(again.profile())
"""
