"""Convolutions and dense layers of the dialect through the kernels of each ARM processor."""

from typing import Any

import numpy as np
import pytest
import tvm
from tvm import relax

from legalize import lower
from qnn_ops import quantized_conv2d, quantized_dense
from qnn_ops.arrays import Array
from qnn_ops.dialect.registry import Operator
from tests.support.arm import CORTEX_A15, CORTEX_A72, CORTEX_A76, MAX, Core, each_core
from tests.support.arm_models import lowered_module, run_lowered
from tests.support.arrays import full_range
from tests.support.encodings import encodings
from tests.support.modules import module

Call = tuple[Operator[Any], Array, Array, Array | None, dict[str, Any]]

ATTRS = encodings(input=(0.5, 7), kernel=(0.0078125, 0), output=(4.0, 3), out_dtype="int8")
NHWC = {**ATTRS, "data_layout": "NHWC", "kernel_layout": "OHWI"}
RNG = np.random.default_rng(0)


def conv(
    shape: tuple[int, ...], kernel: tuple[int, ...], dtype: str = "int8", **attrs: Any
) -> Call:
    data, weights = full_range(RNG, dtype, shape), full_range(RNG, dtype, kernel)
    bias = RNG.integers(-(1 << 12), 1 << 12, kernel[0], dtype=np.int32)
    return quantized_conv2d, data, weights, bias, {**NHWC, **attrs}


def dense(rows: int, depth: int, units: int, **attrs: Any) -> Call:
    data, weights = full_range(RNG, "int8", (rows, depth)), full_range(RNG, "int8", (units, depth))
    return quantized_dense, data, weights, None, {**ATTRS, **attrs}


SCALES = tuple(RNG.uniform(0.001, 0.01, 24).astype(np.float32).tolist())
CALLS: dict[str, Call] = {
    "per_axis": conv((1, 7, 8, 19), (24, 3, 2, 19), kernel_scale=SCALES, padding=(1, 0, 1, 1)),
    "uint8": conv((1, 6, 5, 16), (18, 1, 1, 16), "uint8", kernel_zero_point=90, out_dtype="uint8"),
    "first": conv((1, 9, 9, 3), (8, 3, 3, 3), "uint8", kernel_zero_point=128, strides=2, padding=1),
    "sums": conv((1, 5, 5, 8), (8, 3, 3, 8), out_dtype="int32"),
    "upward": conv((1, 5, 5, 8), (8, 3, 3, 8), rounding="upward"),
    "upward_to_the_left": conv((1, 5, 5, 8), (8, 1, 1, 8), rounding="upward", output_scale=0.002),
    "float32": conv((1, 5, 5, 8), (8, 3, 3, 8), rounding="float32"),
    "groups": conv((1, 6, 6, 24), (24, 3, 3, 8), groups=3, kernel_scale=SCALES, padding=1),
    "depthwise": conv((1, 8, 9, 24), (24, 3, 3, 1), groups=24, kernel_scale=SCALES, padding=1),
    "three_times": conv((1, 8, 9, 8), (24, 3, 3, 1), groups=8, strides=2, padding=1),
    "few_channels": conv((1, 5, 6, 3), (3, 3, 3, 1), groups=3),
    "dense": dense(1, 150, 43),
    "rows": dense(9, 70, 20, out_dtype="uint8", rounding="tflite"),
}


def module_of(calls: list[Call]) -> tvm.IRModule:
    inputs = {
        f"x{number}": relax.TensorType(data.shape, str(data.dtype))
        for number, (_, data, *_) in enumerate(calls)
    }

    def body(*parameters: relax.Expr) -> list[relax.Expr]:
        return [
            operator(
                parameter,
                relax.const(weights),
                **attrs,
                bias=None if bias is None else relax.const(bias),
            )
            for parameter, (operator, _, weights, bias, attrs) in zip(
                parameters, calls, strict=True
            )
        ]

    return module(inputs, body)


@each_core
def test_calls_equal_the_reference(core: Core) -> None:
    calls = list(CALLS.values())
    mod, metadata = lowered_module(module_of(calls), core)
    results = run_lowered(mod, metadata, core, [data for _, data, *_ in calls])
    for name, (operator, data, weights, bias, attrs), result in zip(
        CALLS, calls, results, strict=True
    ):
        expected = operator.evaluate(data, weights, **attrs, bias=bias)
        np.testing.assert_array_equal(result, expected, err_msg=name)


@pytest.mark.parametrize(
    ("core", "products"),
    [
        (CORTEX_A72, "neon.saddlp"),
        (CORTEX_A76, "neon.sdot"),
        (MAX, "neon.smmla"),
        (CORTEX_A15, "vpadals"),
    ],
    ids=lambda value: getattr(value, "target_name", value),
)
def test_each_target_has_its_products(core: Core, products: str) -> None:
    text = kernels_of(core, CALLS["per_axis"])
    assert products in text
    others = {"neon.sdot", "neon.smmla", "vpadals"} - {products}
    assert not [other for other in others if other in text]


@pytest.mark.parametrize("name", CALLS)
def test_every_call_is_served(name: str) -> None:
    assert "neon." in kernels_of(CORTEX_A76, CALLS[name])


def test_a_single_row_takes_no_matrix_products() -> None:
    assert "neon.sdot" in kernels_of(MAX, CALLS["dense"])
    assert "neon.smmla" in kernels_of(MAX, CALLS["rows"])


@pytest.mark.parametrize("name", ["per_axis", "depthwise"])
def test_kernels_without_noalias_come_last(name: str) -> None:
    with tvm.target.Target(CORTEX_A76.target) as target:
        functions = lower(module_of([CALLS[name]]), target).functions.items()
    flags = [
        bool(function.attrs["tirx.noalias"])
        for _, function in sorted((variable.name_hint, f) for variable, f in functions)
        if isinstance(function, tvm.tirx.PrimFunc)
    ]
    assert flags == [True, False]


def kernels_of(core: Core, call: Call) -> str:
    """Return the functions that serve a call, as text."""
    with tvm.target.Target(core.target) as target:
        return str(lower(module_of([call]), target).script())
