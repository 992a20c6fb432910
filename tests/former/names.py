"""The 100 names of TVM's former Python API that public scripts use most.

``python -m tests.former.names`` prints each with its state on the façade: it works, or says what to
do instead. The numbers count scripts, of 449 that build or run a model: 83 of apache/tvm at
0276c5a0d8, v0.7.0 and v0.6.1, and 366 of 70 other repositories (November 2026). Names of tuning
(autotvm, auto_scheduler, meta_schedule), of microTVM and of vendors' kernels are left out: the
façade refuses those packages as a whole.
"""

from collections.abc import Callable
from typing import Any

from tvm.runtime.module import BenchmarkResult

from qnn_ops.errors import QnnError
from tvm_qnn import relay
from tvm_qnn.relay import rpc, tvm
from tvm_qnn.relay.graph_executor import GraphModule

_X = relay.var("x", shape=(1,))
_LIBRARY = relay.build(relay.Function([_X], relay.add(_X, _X)))

OWNERS: dict[str, Any] = {
    "Executor": relay.create_executor(),
    "GraphModule": GraphModule(_LIBRARY["default"](tvm.cpu(0))),
    "IRModule": tvm.IRModule,
    "Module": _LIBRARY,
    "NDArray": tvm.nd.NDArray,
    "RPCSession": rpc.LocalSession(),
    "Target": tvm.target.Target("llvm"),
    "TempDirectory": tvm.contrib.utils.tempdir(),
    "TimeEvaluatorResult": BenchmarkResult([0.0]),
    "TrackerSession": rpc.TrackerSession,
    "VirtualMachine": relay.vm.VirtualMachine,
    "relay": relay,
    "tvm": tvm,
}
"""What stands before a name's first dot."""

NAMES = """
tvm.transform.PassContext 236
relay.build 235
GraphModule.set_input 217
tvm.nd.array 202
GraphModule.run 170
GraphModule.get_output 154
IRModule.__getitem__ 139
Module.export_library 135
Module.__getitem__ 129
tvm.cpu 124
tvm.contrib.graph_executor.GraphModule 115
tvm.target.Target 101
NDArray.numpy 88
NDArray.asnumpy 80
relay.frontend.from_onnx 79
tvm.contrib.download.download_testdata 76
relay.Function 71
relay.var 69
relay.frontend.from_pytorch 64
relay.frontend.from_mxnet 63
relay.build_config 62
GraphModule.module.time_evaluator 61
tvm.device 60
TempDirectory.relpath 59
tvm.contrib.utils.tempdir 59
tvm.IRModule.from_expr 57
RPCSession.load_module 53
tvm.contrib.graph_runtime.create 53
RPCSession.upload 51
tvm.runtime.load_module 50
relay.build_module.build 46
GraphModule.benchmark 44
GraphModule.module 44
relay.save_param_dict 39
tvm.transform.Sequential 38
Module.get_source 37
relay.transform.InferType 37
tvm.cuda 37
relay.nn.softmax 36
RPCSession.cpu 35
Module.get_graph_json 34
tvm.nd.empty 31
relay.testing.resnet.get_workload 30
Executor.evaluate 28
tvm.contrib.graph_executor.create 27
IRModule.astext 27
relay.frontend.from_tflite 27
relay.const 27
tvm.build 26
relay.nn.conv2d 25
relay.backend.Runtime 25
Module.get_params 24
relay.quantize.qconfig 24
relay.TensorType 24
relay.transform.ConvertLayout 23
tvm.testing.assert_allclose 23
tvm.contrib.ndk.create_shared 23
tvm.rpc.connect 23
tvm.rpc.LocalSession 23
GraphModule.load_params 22
relay.quantize.quantize 22
relay.testing.inception_v3.get_workload 22
relay.testing.mobilenet.get_workload 22
relay.testing.squeezenet.get_workload 22
relay.cast 20
relay.nn.dense 20
tvm.IRModule 19
relay.build_module.bind_params_by_name 19
tvm.runtime.save_param_dict 19
RPCSession.cl 19
tvm.context 19
tvm.target.cuda 19
tvm.contrib.util.tempdir 19
relay.transform.FoldConstant 18
NDArray.shape 18
TimeEvaluatorResult.mean 18
relay.load_param_dict 17
relay.vm.compile 16
Module.get_lib 16
relay.create_executor 16
relay.transform.SimplifyInference 16
GraphModule.profile 16
tvm.ir.load_json 16
relay.frontend.from_keras 16
relay.transform.ToMixedPrecision 16
relay.frontend.from_tensorflow 15
relay.analysis.free_vars 15
tvm.rpc.connect_tracker 15
Target.kind 14
relay.testing.vgg.get_workload 14
relay.nn.relu 13
relay.op.get 13
Module.entry_name 13
tvm.contrib.graph_runtime.GraphModule 13
Module.imported_modules 12
tvm.runtime.vm.VirtualMachine 12
relay.Expr.checked_type 12
relay.build_module.create_executor 12
relay.op.nn.conv2d 12
TrackerSession.request 12
"""


_REFUSED: dict[str, Callable[[], Any]] = {
    "tvm.cuda": lambda: _LIBRARY["default"](tvm.cuda(0)),
    "tvm.target.cuda": tvm.target.cuda,
}
"""How to use what is there and refuses every use."""


def names() -> list[tuple[str, int]]:
    """Return each name and its number of scripts."""
    lines = (line.rpartition(" ") for line in NAMES.strip().splitlines())
    return [(name, int(count)) for name, _, count in lines]


def refusal(name: str) -> str:
    """Return what the façade says instead of having a name; nothing if it has it.

    Raises:
        AttributeError: neither.
    """
    first, *rest = name.split(".")
    value = OWNERS[first]
    try:
        for part in rest:
            value = getattr(value, part)
        if name in _REFUSED:
            _REFUSED[name]()
    except QnnError as error:
        return str(error)
    return ""


if __name__ == "__main__":
    for name, count in names():
        print(f"{name:45} {count:4}  {refusal(name) or 'works'}")
