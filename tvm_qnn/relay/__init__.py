"""The calls of TVM's former Relay, for scripts that were written for them.

Change the import lines and keep the rest::

    from tvm_qnn import relay                    # was: from tvm import relay
    from tvm_qnn.relay import graph_executor     # was: from tvm.contrib import graph_executor
    from tvm_qnn.relay import tvm                # was: import tvm; only for what TVM has lost:
                                                 # tvm.nd.array, tvm.context, text targets, …

With these names today's TVM does the work: modules are Relax modules, and quantized operators are
those of ``qnn_ops``.
"""

from collections.abc import Mapping
from types import SimpleNamespace

from tvm import relax
from tvm.ir import GenericConst, IRModule
from tvm.ir.transform import PassContext
from tvm.relax import Call, Expr, Tuple, TupleGetItem, TupleType, Var
from tvm.runtime import params

from qnn_ops.errors import QnnError
from tvm_qnn.relay import (
    backend,
    build_module,
    expr,
    frontend,
    graph_executor,
    image,
    nn,
    op,
    qnn,
    testing,
    transform,
    vm,
)
from tvm_qnn.relay.build_module import build
from tvm_qnn.relay.expr import any_size, const, free_vars, var
from tvm_qnn.relay.objects import Named, add_names
from tvm_qnn.relay.op import *  # noqa: F403 (the module lists what it gives)
from tvm_qnn.relay.op import If, Let
from tvm_qnn.relay.vm import create_executor
from tvm_qnn.relay.vm import run_const_expr as _run_const_expr

load_param_dict = params.load_param_dict
save_param_dict = params.save_param_dict

Any = any_size
Constant = Named(GenericConst, const)
TensorType = Named(relax.TensorType, expr.TensorType)
Function = Named(relax.Function, expr.Function)
build_config = PassContext
analysis = SimpleNamespace(free_vars=free_vars)
"""``relay.analysis``, as far as scripts use it."""

op.nn, op.image = nn, image  # type: ignore[attr-defined]
"""Relay's operators were in ``relay``, and in ``relay.op``, too."""

add_names()

build_module.create_executor = create_executor  # type: ignore[attr-defined]
qnn.op.canonicalizations.run_const_expr = _run_const_expr  # type: ignore[attr-defined]


def optimize(
    mod: IRModule, target: object = None, params: Mapping[str, object] | None = None
) -> tuple[IRModule, Mapping[str, object]]:
    """Return the module unchanged: the build optimizes it."""
    del target
    return mod, params or {}


def __getattr__(name: str) -> object:
    if name == "quantize":
        raise QnnError(
            "relay.quantize: quantize the model with its own framework's tools, "
            "and import the result"
        )
    raise AttributeError(f"tvm_qnn.relay has no {name}")


__all__ = [
    "Any",
    "Call",
    "Constant",
    "Expr",
    "Function",
    "If",
    "Let",
    "TensorType",
    "Tuple",
    "TupleGetItem",
    "TupleType",
    "Var",
    "analysis",
    "backend",
    "build",
    "build_config",
    "build_module",
    "const",
    "create_executor",
    "frontend",
    "graph_executor",
    "image",
    "load_param_dict",
    "nn",
    "op",
    "optimize",
    "qnn",
    "save_param_dict",
    "testing",
    "transform",
    "var",
    "vm",
    *op.__all__,  # type: ignore[attr-defined]
]
