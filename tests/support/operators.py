"""Checks that every operator of the dialect goes through."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import tvm
from tvm import relax

import legalize
from qnn_ops.dialect.registry import Operator
from tests.support import bochs
from tests.support.bochs_models import run_module
from tests.support.unchecked import checked, unchecked
from tests.support.x86 import runs_here

OperatorCall = tuple[Operator[Any], Sequence[Any], dict[str, Any]]
"""An operator, its operands and its attributes."""


def module_of(operator: Operator[Any], operands: Sequence[Any], **attrs: Any) -> tvm.IRModule:
    """Return a module whose ``main`` applies ``operator`` to parameters shaped as the operands.

    An operand is an array, a list of arrays (a tuple operand) or None (an absent one).
    """
    return _module_of([(operator, operands, attrs)])


def _module_of(calls: Sequence[OperatorCall]) -> tvm.IRModule:
    """Return such a module of several calls; the result of several is a tuple."""
    builder = relax.BlockBuilder()
    parameters: list[relax.Var] = []

    def parameter(array: np.ndarray) -> relax.Var:
        ty = relax.TensorType(array.shape, str(array.dtype))
        parameters.append(relax.Var(f"x{len(parameters)}", ty))
        return parameters[-1]

    given = []
    for operator, operands, attrs in calls:
        named = dict(attrs)
        for name, operand in zip(operator.tensors, operands, strict=False):
            if isinstance(operand, (list, tuple)):
                named[name] = [parameter(array) for array in operand]
            elif operand is not None:
                named[name] = parameter(operand)
        given.append((operator, named))
    with builder.function("main", parameters):
        with builder.dataflow():
            results = [builder.emit(operator(**named)) for operator, named in given]
            result = results[0] if len(results) == 1 else relax.Tuple(results)
            output = builder.emit_output(result)
        builder.emit_func_output(output)
    return builder.get()


def run(mod: tvm.IRModule, arrays: Sequence[np.ndarray], target: Any = "llvm") -> np.ndarray:
    """Compile ``main`` for a target that this machine can run or emulate, and run it once."""
    target = tvm.target.Target(target)
    mcpu = str(target.attrs.get("mcpu", ""))
    if not runs_here(mcpu):
        return run_module(bochs.PROCESSORS[mcpu], mod, arrays)
    (result,) = run_all(mod, arrays, target)
    return result


def run_all(
    mod: tvm.IRModule, arrays: Sequence[np.ndarray], target: Any = "llvm"
) -> list[np.ndarray]:
    """Compile ``main`` for this machine and run it once; return its results, one or several."""
    target = tvm.target.Target(target)
    with checked() if target.attrs.get("mcpu", "") else unchecked():
        machine = relax.VirtualMachine(tvm.compile(mod, target=target), tvm.cpu())
    result = machine["main"](*(tvm.runtime.tensor(array) for array in arrays))
    results = [result] if isinstance(result, tvm.runtime.Tensor) else result
    return [each.numpy() for each in results]


def flat(operands: Sequence[Any]) -> list[np.ndarray]:
    """Return the arrays of ``operands``, in the order of the module's parameters."""
    arrays: list[np.ndarray] = []
    for operand in operands:
        if isinstance(operand, (list, tuple)):
            arrays.extend(operand)
        elif operand is not None:
            arrays.append(operand)
    return arrays


def check_operator(operator: Operator[Any], operands: Sequence[Any], **attrs: Any) -> np.ndarray:
    """Assert that the primitives compute the results of the numpy reference; return them."""
    return check_operators([(operator, operands, attrs)])[0]


def check_operators(calls: Sequence[OperatorCall]) -> list[np.ndarray]:
    """Assert so of several calls, which are compiled together, and that text gives them back."""
    expected = [
        operator.evaluate(**dict(zip(operator.tensors, operands, strict=False)), **attrs)
        for operator, operands, attrs in calls
    ]
    arrays = [array for _, operands, _ in calls for array in flat(operands)]
    mod = _module_of(calls)
    check_round_trips(mod)
    # Without an instruction set there are no kernels: TVM makes each function for its arguments.
    results = run_all(legalize.LegalizeQnn()(mod), arrays)
    for actual, wanted, (operator, operands, attrs) in zip(results, expected, calls, strict=True):
        what = f"{operator.name} of {[array.shape for array in flat(operands)]}, {attrs}"
        assert actual.dtype == wanted.dtype, what
        np.testing.assert_array_equal(actual, wanted, err_msg=what)
    return expected


def check_round_trips(mod: tvm.IRModule) -> None:
    """Assert that TVMScript and JSON give a module back."""
    tvm.ir.assert_structural_equal(tvm.script.from_source(mod.script()), mod)
    tvm.ir.assert_structural_equal(tvm.ir.load_json(tvm.ir.save_json(mod)), mod)
