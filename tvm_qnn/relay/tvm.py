"""``tvm`` as Relay's scripts knew it: today's package, and beside it what it has lost.

``from tvm_qnn.relay import tvm`` instead of ``import tvm`` gives ``tvm.relay``, ``tvm.nd``,
``tvm.contrib.graph_executor`` (and its former name ``graph_runtime``), ``tvm.context``,
``tvm.device("llvm")``, targets from text and ``tvm.runtime.load_module`` for libraries of
``relay.build``. Every other name is that of the installed TVM.
"""

from __future__ import annotations

import importlib
import json
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import tvm
import tvm.contrib
import tvm_ffi

from qnn_ops.errors import QnnError
from tvm_qnn import relay
from tvm_qnn.relay import graph_executor
from tvm_qnn.relay.build_module import load_module
from tvm_qnn.relay.expr import module_of
from tvm_qnn.relay.objects import Named
from tvm_qnn.target.target import parse_target


class _Overlay(SimpleNamespace):
    """A module with some names of its own before those of another one."""

    def __init__(self, base: ModuleType, **names: Any) -> None:
        super().__init__(**names)
        self._base = base

    def __getattr__(self, name: str) -> Any:
        try:
            return getattr(self._base, name)
        except AttributeError:  # a submodule that nobody has imported yet
            try:
                return importlib.import_module(f"{self._base.__name__}.{name}")
            except ModuleNotFoundError:
                raise AttributeError(f"{self._base.__name__} has no {name}") from None


_GONE = {
    "autotvm": "kernels need no tuning: build the module",
    "auto_scheduler": "kernels need no tuning: build the module",
    "micro": "write C for microcontrollers with tvm_qnn.Library.export(path, format='c')",
}
"""What to do in place of packages that TVM has lost."""


def array(value: Any, device: Any = None, ctx: Any = None) -> Any:
    """Return a tensor of TVM's from a numpy array or nested lists, in this machine's memory."""
    return tvm.runtime.tensor(np.asarray(value))


def context(device_type: str, device_id: int = 0) -> Any:
    """Return the device of a name or a target's text, as ``tvm.device``: "llvm" is the CPU."""
    kind = device_type.split(" ")[0]
    if kind.startswith("{"):  # what str(target) gives today
        kind = json.loads(device_type)["kind"]
    return tvm.device("cpu" if kind in ("llvm", "c", "stackvm") else kind, device_id)


device = context


def make_target(target: Any, host: Any = None) -> tvm.target.Target:
    """Return a target as ``tvm.target.Target`` made it, from what ``tvm_qnn.build`` takes.

    Args:
        target: a text, a dict or a target.
        host: is accepted and means nothing: code for a processor has no other host.
    """
    del host
    return parse_target(target)


def empty(shape: Any, dtype: str = "float32", device: Any = None) -> Any:
    """Return a tensor of a shape whose values are not set."""
    sizes = [shape] if isinstance(shape, int) else shape
    return tvm.runtime.empty(tuple(sizes), dtype, device or tvm.cpu())


def pass_context(*arguments: Any, config: Any = None, **named: Any) -> tvm.transform.PassContext:
    """Return ``tvm.transform.PassContext``; settings of Relay's passes are left out.

    Args:
        *arguments: as TVM's.
        config: those settings that TVM still has take effect.
        **named: as TVM's.
    """
    kept = {k: v for k, v in (config or {}).items() if not k.startswith("relay.")}
    return tvm.transform.PassContext(*arguments, config=kept, **named)


IRModule: Any = Named(tvm.IRModule, tvm.IRModule, from_expr=module_of)
ir = _Overlay(tvm.ir, IRModule=IRModule, structural_equal=tvm_ffi.structural_equal)
nd = SimpleNamespace(array=array, empty=empty, cpu=tvm.cpu)
transform = _Overlay(tvm.transform, PassContext=pass_context)
contrib = _Overlay(tvm.contrib, graph_executor=graph_executor, graph_runtime=graph_executor)
runtime = _Overlay(tvm.runtime, load_module=load_module)
target = _Overlay(tvm.target, Target=make_target, create=make_target)

__all__ = [
    "IRModule",
    "array",
    "context",
    "contrib",
    "device",
    "empty",
    "ir",
    "load_module",
    "make_target",
    "nd",
    "pass_context",
    "relay",
    "runtime",
    "target",
    "transform",
]


def __getattr__(name: str) -> Any:
    if name in _GONE:
        raise QnnError(f"tvm.{name}: {_GONE[name]}")
    if name.startswith("__"):  # what Python's import system asks every module
        raise AttributeError(name)
    return getattr(_Overlay(tvm), name)
