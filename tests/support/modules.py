"""Small modules written by hand, for tests of the code around the operators."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import tvm
from tvm import relax


def module(
    inputs: dict[str, relax.Type],
    body: Callable[..., relax.Expr | Sequence[relax.Expr]],
) -> tvm.IRModule:
    """A module whose ``main`` gives ``body(*inputs)``: an expression, or several as a tuple."""
    parameters = [relax.Var(name, ty) for name, ty in inputs.items()]
    builder = relax.BlockBuilder()
    with builder.function("main", parameters):
        with builder.dataflow():
            results = body(*parameters)
            single = isinstance(results, relax.Expr)
            emitted = [builder.emit(result) for result in ([results] if single else results)]
            output = builder.emit_output(emitted[0] if single else relax.Tuple(emitted))
        builder.emit_func_output(output)
    return builder.get()


def adder(shape: Sequence[int] = (2, 3)) -> tvm.IRModule:
    """x + w, both int8."""
    ty = relax.TensorType(shape, "int8")
    return module({"x": ty, "w": ty}, relax.op.add)
