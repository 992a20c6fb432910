"""``tvm`` as Relay's scripts use it: today's package, and the names that it has lost.

``from tvm_qnn.relay import tvm`` in place of ``import tvm`` adds ``tvm.relay``, ``tvm.nd``,
``tvm.contrib.graph_executor`` (and its former name ``graph_runtime``), ``tvm.context``,
``tvm.device("llvm")``, targets from text and ``tvm.runtime.load_module`` for libraries of
``relay.build``. Every other name is that of the installed TVM.
"""

import json
from types import SimpleNamespace
from typing import Any

import numpy as np
import tvm
import tvm_ffi

from qnn_ops.errors import QnnError
from tvm_qnn import relay
from tvm_qnn.relay import contrib, error, rpc
from tvm_qnn.relay.expr import module_of
from tvm_qnn.relay.factory import load_module
from tvm_qnn.relay.objects import Named, Overlay
from tvm_qnn.target.target import parse_target

_UNTUNED = "kernels need no tuning: build the module"
_GONE = {
    "autotvm": _UNTUNED,
    "auto_scheduler": _UNTUNED,
    "meta_schedule": _UNTUNED,
    "micro": "write C for microcontrollers with tvm_qnn.Library.export(path, format='c')",
}
"""Advice about packages that TVM has lost."""


def array(value: Any, device: Any = None, ctx: Any = None) -> Any:
    """Return one of TVM's tensors from a numpy array or nested lists, in this machine's memory."""
    return tvm.runtime.tensor(np.asarray(value))


def context(device_type: str, device_id: int = 0) -> Any:
    """Return the device of a name or a target's text, like ``tvm.device``: "llvm" is the CPU."""
    kind = device_type.split(" ")[0]
    if kind.startswith("{"):  # the text of str(target) today
        kind = json.loads(device_type)["kind"]
    return tvm.device("cpu" if kind in ("llvm", "c", "stackvm") else kind, device_id)


device = context


def make_target(target: Any, host: Any = None) -> tvm.target.Target:
    """Return a target as ``tvm.target.Target`` does, from an argument of ``tvm_qnn.build``.

    Args:
        target: a text, a dict or a target.
        host: has no effect: code for a processor has no other host.
    """
    del host
    return parse_target(target)


def empty(shape: Any, dtype: str = "float32", device: Any = None) -> Any:
    """Return a tensor of a shape with undefined values."""
    sizes = [shape] if isinstance(shape, int) else shape
    return tvm.runtime.empty(tuple(sizes), dtype, device or tvm.cpu())


def pass_context(*arguments: Any, config: Any = None, **named: Any) -> tvm.transform.PassContext:
    """Return ``tvm.transform.PassContext``; settings of Relay's passes are ignored.

    Args:
        *arguments: as for TVM's class.
        config: only the settings that TVM still has take effect.
        **named: as for TVM's class.
    """
    kept = {k: v for k, v in (config or {}).items() if not k.startswith("relay.")}
    return tvm.transform.PassContext(*arguments, config=kept, **named)


def cuda_target() -> tvm.target.Target:
    """Refuse: kernels only run on processors."""
    raise QnnError("target.cuda: kernels are for processors; write 'llvm', or another target")


def arm_target(model: str = "unknown", options: Any = None) -> tvm.target.Target:
    """Refuse: a target names its processor."""
    raise QnnError(
        f"target.arm_cpu({model!r}): write 'aarch64 -mcpu=cortex-a72', or your processor"
    )


IRModule: Any = Named(tvm.IRModule, tvm.IRModule, from_expr=module_of)
ir = Overlay(tvm.ir, IRModule=IRModule, structural_equal=tvm_ffi.structural_equal)
nd = SimpleNamespace(NDArray=tvm.runtime.Tensor, array=array, empty=empty, cpu=tvm.cpu)
transform = Overlay(tvm.transform, PassContext=pass_context)
runtime = Overlay(tvm.runtime, NDArray=tvm.runtime.Tensor, load_module=load_module)
target = Overlay(
    tvm.target, Target=make_target, create=make_target, cuda=cuda_target, arm_cpu=arm_target
)
TVMError = error.TVMError
gpu = tvm.cuda
tir = tvm.tirx

__all__ = [
    "IRModule",
    "TVMError",
    "arm_target",
    "array",
    "context",
    "contrib",
    "cuda_target",
    "device",
    "empty",
    "error",
    "gpu",
    "ir",
    "load_module",
    "make_target",
    "nd",
    "pass_context",
    "relay",
    "rpc",
    "runtime",
    "target",
    "tir",
    "transform",
]


def __getattr__(name: str) -> Any:
    if name in _GONE:
        raise QnnError(f"tvm.{name}: {_GONE[name]}")
    if name.startswith("__"):  # Python's import system asks every module for such names
        raise AttributeError(name)
    return getattr(Overlay(tvm), name)
