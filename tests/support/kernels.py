"""Kernels of operators, on every instruction set that can run here: by itself or emulated."""

from collections.abc import Callable, Collection, Container, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import tvm
from tvm import relax, tirx

from legalize.kernels.isa.x86 import AVX_VNNI
from legalize.kernels.kernel import IS_KERNEL
from legalize.lower import lower
from qnn_ops.dialect.registry import Operator, constant_of
from tests.support import arm, x86
from tests.support.operators import flat, module_of, run
from tests.support.programs import Case


@dataclass(frozen=True)
class Place:
    """Where kernels run.

    Attributes:
        name: of the instruction set.
        target: whose code runs there.
        marks: of a test that runs kernels there.
        run: runs cases, each output between fences.
    """

    name: str
    target: dict[str, Any]
    marks: Sequence[pytest.MarkDecorator]
    run: Callable[[Sequence[Case]], list[np.ndarray]]


@dataclass(frozen=True)
class Call:
    """An operator's operands and attributes.

    Attributes:
        operator: the operator.
        operands: arrays.
        attrs: the attributes.
        opened: sizes that are open in the module. The same number is the same variable.
    """

    operator: Operator[Any]
    operands: Sequence[Any]
    attrs: dict[str, Any]
    opened: Container[int] = ()


def x86_place(name: str, mcpu: str) -> Place:
    """Return the place of a processor's instruction set."""
    return Place(
        name, {"kind": "llvm", "mcpu": mcpu}, x86.marks(mcpu), partial(x86.run_cases, mcpu)
    )


def _arm(core: arm.Core) -> Place:
    name = core.name.split(",")[0]
    return Place(name, core.target, arm.marks(core), lambda cases: arm.run_cases(core, cases))


VNNI, VBMI = "avx512-vnni", "avx512-vnni-vbmi"
X86_PLACES = (
    x86_place(VBMI, "icelake-server"),
    # AVX-VNNI has nothing that AVX2 has not, except for convolutions.
    *(
        x86_place(isa.name, mcpu)
        for isa, (mcpu, _) in x86.PROCESSORS.items()
        if isa is not AVX_VNNI
    ),
)
ARM_PLACES = tuple(_arm(core) for core in (arm.CORTEX_A72, arm.CORTEX_A15))
PLACES = (*X86_PLACES, *ARM_PLACES)
REGISTERS = [place for place in PLACES if place.name not in (VNNI, VBMI)]
"""A place for each kind of registers: VNNI adds up products of integers, VBMI looks up bytes."""
FUSING = [place for place in REGISTERS if place.name not in ("sse4.1", "cortex-a15")]
"""The places whose processors round a product and a sum of floats once."""


def at(places: Iterable[Place]) -> pytest.MarkDecorator:
    """Run a test for each of some places as its argument ``place``, if it can run there."""
    cases = [pytest.param(place, id=place.name, marks=place.marks) for place in places]
    return pytest.mark.parametrize("place", cases)


def at_x86(names: Collection[str]) -> pytest.MarkDecorator:
    """Run a test for each of these instruction sets of x86 as its argument ``place``."""
    return at(place for place in X86_PLACES if place.name in names)


each_place = at(PLACES)
"""Run a test for each place as its argument ``place``, if it can run there."""
each_register = at(REGISTERS)
"""Likewise, a test of kernels that AVX512-VNNI and VBMI do not change."""
each_product = at(place for place in PLACES if place.name != VBMI)
"""Likewise, a test of kernels that look up no bytes."""
each_x86_product = at(place for place in X86_PLACES if place.name != VBMI)
"""Likewise, such a test of x86."""
each_table = at(place for place in PLACES if place.name != VNNI)
"""Likewise, a test of kernels that add up no products of integers."""


def lowered(call: Call, target: Any, constants: Sequence[str] = ()) -> tvm.IRModule:
    """Return the module of one call, lowered; some operands, of these names, are constants."""
    variable = cache(lambda size: tirx.Var(f"size_{size}", "int64"))

    def typed(operand: Any) -> Any:
        shape = [variable(size) if size in call.opened else size for size in operand.shape]
        return SimpleNamespace(shape=shape, dtype=operand.dtype)

    operands = list(map(typed, call.operands)) if call.opened else call.operands
    mod = module_of(call.operator, operands, **call.attrs)
    if constants:
        given = {
            f"x{place}": tvm.runtime.tensor(operand)
            for place, (name, operand) in enumerate(
                zip(call.operator.tensors, call.operands, strict=False)
            )
            if name in constants and operand is not None
        }
        mod = relax.transform.BindParams("main", given)(mod)
    return lower(mod, tvm.target.Target(target))


def kernels_of(mod: tvm.IRModule) -> list[Any]:
    """Return the kernels in a module."""
    return [f for f in mod.functions.values() if f.attrs is not None and IS_KERNEL in f.attrs]


def check_calls(place: Place, calls: Iterable[Call], constants: Sequence[str] = ()) -> None:
    """Assert that each call becomes one kernel, with the results of the numpy reference."""
    cases, expected = [], []
    for call in calls:
        arguments = dict(zip(call.operator.tensors, call.operands, strict=False))
        result = call.operator.evaluate(**arguments, **call.attrs)
        cases.append(_case(call, place.target, result, constants))
        expected.append(result)
    for case, result, wanted in zip(cases, place.run(cases), expected, strict=True):
        what = f"{case.function.attrs['global_symbol']} of {[a.shape for a in case.inputs]}"
        np.testing.assert_array_equal(result, wanted, err_msg=what)


def check_layer(call: Call, target: Any, variety: int = 1) -> tvm.IRModule:
    """Assert that a layer of constant weights and bias gives the results of the numpy reference.

    Args:
        call: the layer.
        target: that this machine can run or emulate.
        variety: how many values the result has at least.

    Returns:
        The lowered module.
    """
    names = call.operator.tensors
    mod = lowered(call, target, names[1:3])
    expected = call.operator.evaluate(**dict(zip(names, call.operands, strict=False)), **call.attrs)
    assert np.unique(expected).size >= variety
    actual = run(mod, [call.operands[0], *flat(call.operands[3:])], target)
    assert actual.dtype == expected.dtype
    np.testing.assert_array_equal(actual, expected)
    return mod


def _case(call: Call, target: Any, result: np.ndarray, constants: Sequence[str]) -> Case:
    mod = lowered(call, target, constants)
    operands = [
        operand
        for name, operand in zip(call.operator.tensors, call.operands, strict=False)
        if name not in constants
    ]
    return only_case(mod, flat(operands), result)


def only_case(mod: tvm.IRModule, arrays: Sequence[np.ndarray], result: np.ndarray) -> Case:
    """Return the only call of ``main``, given the arrays of its parameters and its result."""
    main = mod["main"]
    known = dict(zip(main.params, arrays, strict=True))
    (call,) = (
        value
        for value in relax.analysis.get_var2val(main).values()
        if isinstance(value, relax.Call) and value.op == tvm.ir.Op.get("relax.call_tir")
    )
    variable, operands = call.args[:2]
    given = (known.get(field, constant_of(field)) for field in operands.fields)
    inputs = [array for array in given if array is not None]
    assert len(inputs) == len(operands.fields)
    function = mod[variable].with_attr("global_symbol", variable.name_hint)
    return Case(function, inputs, result.shape, str(result.dtype))
