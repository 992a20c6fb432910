"""Small modules written by hand, for tests of the code around the operators."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import tvm
from tvm import relax


def module(
    inputs: Mapping[str, relax.Type | np.ndarray],
    body: Callable[..., relax.Expr | Sequence[relax.Expr]],
) -> tvm.IRModule:
    """A module whose ``main`` gives ``body(*inputs)``: an expression, or several as a tuple.

    Inputs are given as types, or as arrays of that type.
    """
    parameters = [relax.Var(name, type_of(given)) for name, given in inputs.items()]
    builder = relax.BlockBuilder()
    with builder.function("main", parameters):
        with builder.dataflow():
            results = body(*parameters)
            single = isinstance(results, relax.Expr)
            emitted = [builder.emit(result) for result in ([results] if single else results)]
            output = builder.emit_output(emitted[0] if single else relax.Tuple(emitted))
        builder.emit_func_output(output)
    return builder.get()


def type_of(given: relax.Type | np.ndarray) -> relax.Type:
    if isinstance(given, np.ndarray):
        return relax.TensorType(given.shape, str(given.dtype))
    return given


def emit(value: relax.Expr) -> relax.Var:
    """Bind a value that the body of a module uses several times."""
    return relax.BlockBuilder.current().emit(value)


def calls_of(mod: tvm.IRModule) -> list[relax.Call]:
    """Return the calls of ``main``, in order."""
    values = (binding.value for block in mod["main"].body.blocks for binding in block.bindings)
    return [value for value in values if isinstance(value, relax.Call)]


def adder(shape: Sequence[int] = (2, 3)) -> tvm.IRModule:
    """x + w, both int8."""
    ty = relax.TensorType(shape, "int8")
    return module({"x": ty, "w": ty}, relax.op.add)
