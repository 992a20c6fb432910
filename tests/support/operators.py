"""Checks that every operator of the dialect goes through."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np
import tvm
from tvm import relax

import legalize
from qnn_ops.dialect.registry import Operator
from tests.support import bochs
from tests.support.bochs_models import run_module
from tests.support.unchecked import unchecked
from tests.support.x86 import runs_here


def module_of(operator: Operator[Any], operands: Sequence[Any], **attrs: Any) -> tvm.IRModule:
    """Return a module whose ``main`` applies ``operator`` to parameters shaped as the operands.

    An operand is an array, a list of arrays (a tuple operand) or None (an absent one).
    """
    builder = relax.BlockBuilder()
    parameters: list[relax.Var] = []

    def parameter(array: np.ndarray) -> relax.Var:
        ty = relax.TensorType(array.shape, str(array.dtype))
        parameters.append(relax.Var(f"x{len(parameters)}", ty))
        return parameters[-1]

    named = {}
    for name, operand in zip(operator.tensors, operands, strict=False):
        if isinstance(operand, (list, tuple)):
            named[name] = [parameter(array) for array in operand]
        elif operand is not None:
            named[name] = parameter(operand)
    with builder.function("main", parameters):
        with builder.dataflow():
            result = builder.emit_output(builder.emit(operator(**named, **attrs)))
        builder.emit_func_output(result)
    return builder.get()


def run(mod: tvm.IRModule, arrays: Sequence[np.ndarray], target: Any = "llvm") -> np.ndarray:
    """Compile ``main`` for a target that this machine can run or emulate, and run it once."""
    target = tvm.target.Target(target)
    mcpu = str(target.attrs.get("mcpu", ""))
    if not runs_here(mcpu):
        return run_module(bochs.PROCESSORS[mcpu], mod, arrays)
    # Without an instruction set there are no kernels: TVM makes each function for its arguments.
    with nullcontext() if mcpu else unchecked():
        machine = relax.VirtualMachine(tvm.compile(mod, target=target), tvm.cpu())
    result = machine["main"](*(tvm.runtime.tensor(array) for array in arrays))
    return np.asarray(result.numpy())


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
    arguments = dict(zip(operator.tensors, operands, strict=False))
    expected = operator.evaluate(**arguments, **attrs)
    lowered = legalize.LegalizeQnn()(module_of(operator, operands, **attrs))
    actual = run(lowered, flat(operands))
    assert actual.dtype == expected.dtype
    np.testing.assert_array_equal(actual, expected)
    return expected


def check_round_trips(operator: Operator[Any], operands: Sequence[Any], **attrs: Any) -> None:
    """Assert that TVMScript and JSON give the module back, and TVM's LegalizeOps lowers it."""
    mod = module_of(operator, operands, **attrs)
    text = mod.script()
    assert f"R.qnn.{operator.name}(" in text
    tvm.ir.assert_structural_equal(tvm.script.from_source(text), mod)
    tvm.ir.assert_structural_equal(tvm.ir.load_json(tvm.ir.save_json(mod)), mod)
    assert "R.qnn." not in relax.transform.LegalizeOps()(mod).script()
