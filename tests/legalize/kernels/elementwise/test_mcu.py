from pathlib import Path
from typing import Any

import numpy as np
import pytest

from legalize.kernels.elementwise.affine import affine_form
from legalize.kernels.elementwise.mcu import add
from legalize.lower import lower
from qnn_ops import quantized_add, quantized_subtract
from qnn_ops.dialect.registry import Operator, attrs_of
from tests.support import mcu
from tests.support.operators import module_of
from tests.support.programs import Case
from tests.support.x86 import run_on
from tvm_qnn.standalone.functions import compile_functions
from tvm_qnn.target.target import parse_target

# Operator, dtypes, scales, bounds of the output.
CALLS = [
    (quantized_add, ("int8", "int8", "int8"), (0.1, 0.07, 0.15), (-128, 127)),
    (quantized_add, ("int8", "int8", "int8"), (0.02, 0.02, 0.02), (-9, 127)),
    (quantized_add, ("uint8", "int8", "uint8"), (0.1, 0.07, 0.15), (0, 255)),
    (quantized_subtract, ("int8", "uint8", "int8"), (0.5, 0.25, 0.25), (-128, 127)),
]


def call_of(
    operator: Operator[Any],
    dtypes: tuple[str, str, str],
    scales: tuple[float, float, float],
    bounds: tuple[int, int],
    operands: list[np.ndarray],
) -> Any:
    lowest = [int(np.iinfo(dtype).min) for dtype in dtypes]
    points = [low + 128 + offset for low, offset in zip(lowest, (3, -7, -20), strict=True)]
    return module_of(
        operator,
        operands,
        lhs_scale=scales[0],
        lhs_zero_point=points[0],
        rhs_scale=scales[1],
        rhs_zero_point=points[1],
        output_scale=scales[2],
        output_zero_point=points[2],
        out_dtype=dtypes[2],
        out_min=bounds[0],
        out_max=bounds[1],
    )


def every_pair(dtypes: tuple[str, str, str]) -> list[np.ndarray]:
    """All pairs, and three more: no multiple of a vector."""
    values = np.arange(256, dtype=np.uint8)
    pairs = np.repeat(values, 256), np.tile(values, 256)
    return [
        np.append(array, array[:3]).view(dtype)
        for array, dtype in zip(pairs, dtypes[:2], strict=True)
    ]


def case_of(lanes: int, call: Any) -> tuple[Case, np.ndarray]:
    operator, dtypes, scales, bounds = call
    operands = every_pair(dtypes)
    mod = call_of(operator, dtypes, scales, bounds, operands)
    attrs = attrs_of(mod["main"].body.blocks[0].bindings[0].value)
    form = affine_form(operator, attrs, dtypes[:2], 1 if operator is quantized_add else -1)
    assert form is not None
    count = operands[0].size
    function = add(count, form, dtypes, bounds, lanes=lanes)
    return Case(function, operands, (count,), dtypes[2]), operator.apply(attrs, *operands)


@pytest.mark.parametrize("call", CALLS)
def test_every_pair_of_values(call: Any) -> None:
    case, expected = case_of(1, call)
    result = run_on("nehalem", case.function, list(case.inputs), case.shape, case.dtype)
    np.testing.assert_array_equal(result, expected)


@mcu.emulated
def test_every_pair_of_values_with_helium(tmp_path: Path) -> None:
    cases, expected = zip(*(case_of(4, call) for call in CALLS), strict=True)
    for result, array in zip(mcu.run_cases("cortex-m55", cases, tmp_path), expected, strict=True):
        np.testing.assert_array_equal(result, array)


@pytest.mark.parametrize(
    ("core", "instructions"), [("cortex-m4", ("mla",)), ("cortex-m55", ("vmla", "vqshl"))]
)
def test_the_instructions_of_a_core(core: str, instructions: tuple[str, ...]) -> None:
    case, _ = case_of(4 if core == "cortex-m55" else 1, CALLS[0])
    functions = {"add": case.function}
    code = compile_functions(functions, {"add": "m_add"}, parse_target(core))
    assembly = str(code.module.inspect_source("asm"))
    for instruction in instructions:
        assert instruction in assembly


@pytest.mark.parametrize("core", ["cortex-m4", "cortex-m55", "riscv32"])
@pytest.mark.parametrize(
    ("shapes", "expected"), [(((5, 3), (5, 3)), True), (((5, 3), (3,)), False)]
)
def test_tensors_of_one_shape_are_served(
    shapes: tuple[tuple[int, ...], tuple[int, ...]], core: str, *, expected: bool
) -> None:
    operands = [np.zeros(shape, np.int8) for shape in shapes]
    operator, dtypes, scales, bounds = CALLS[0]
    mod = lower(call_of(operator, dtypes, scales, bounds, operands), parse_target(core))
    assert ("add" in {variable.name_hint for variable in mod.get_global_vars()}) is expected
