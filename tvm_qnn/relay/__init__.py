"""The calls of TVM's former Relay, for scripts that were written for them.

Change the import lines and keep the rest::

    from tvm_qnn import relay                    # was: from tvm import relay
    from tvm_qnn.relay import graph_executor     # was: from tvm.contrib import graph_executor
    from tvm_qnn.relay import tvm                # was: import tvm; only for what TVM has lost:
                                                 # tvm.nd.array, tvm.context, text targets, …

Below these names stands today's TVM: modules are Relax modules, and quantized operators are
those of ``qnn_ops``.
"""

from __future__ import annotations

from types import SimpleNamespace

from tvm.relax import Tuple

from tvm_qnn.relay import build_module, frontend, graph_executor, nn, qnn
from tvm_qnn.relay.build_module import build
from tvm_qnn.relay.expr import Function, clip, const, var
from tvm_qnn.relay.op import (
    add,
    cast,
    concatenate,
    divide,
    expand_dims,
    free_vars,
    max,
    maximum,
    mean,
    min,
    minimum,
    multiply,
    reshape,
    squeeze,
    subtract,
    sum,
    transpose,
)

analysis = SimpleNamespace(free_vars=free_vars)
"""``relay.analysis``: what scripts ask it for."""

__all__ = [
    "Function",
    "Tuple",
    "add",
    "analysis",
    "build",
    "build_module",
    "cast",
    "clip",
    "concatenate",
    "const",
    "divide",
    "expand_dims",
    "frontend",
    "graph_executor",
    "max",
    "maximum",
    "mean",
    "min",
    "minimum",
    "multiply",
    "nn",
    "qnn",
    "reshape",
    "squeeze",
    "subtract",
    "sum",
    "transpose",
    "var",
]
