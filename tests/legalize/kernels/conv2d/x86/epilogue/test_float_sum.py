"""Residual sums as floats against the reference, for all pairs of bytes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tvm.script.ir_builder import IRBuilder
from tvm.script.ir_builder import tirx as T

from legalize.kernels.conv2d.spec import OutputStage, Residual
from legalize.kernels.conv2d.x86.epilogue.float_sum import FloatSum, float_sum
from legalize.kernels.elementwise.affine import affine_form
from legalize.kernels.isa.base import AffineForm
from qnn_ops import quantized_add, quantized_subtract
from qnn_ops.registry import Attrs, Operator
from tests.support.x86 import needs_vnni, run

Array = np.ndarray[Any, Any]

BYTES = np.arange(256)


def sums_of(found: FloatSum, own: Array, other: Array) -> Array:
    """Run the sequence on the bits of float32 and on int32, [n, 16]."""
    with IRBuilder() as builder, T.prim_func(s_tir=True):
        T.func_name("sums")
        T.func_attr({"global_symbol": "sums"})
        left = T.arg("left", T.buffer(own.shape, "int32"))
        right = T.arg("right", T.buffer(own.shape, "int32"))
        output = T.arg("output", T.buffer(own.shape, "int32"))
        with T.serial(len(own)) as i:
            lanes = T.ramp(0, 1, 16)
            T.buffer_store(output, found.emit(left[i, lanes], right[i, lanes]), [i, lanes])
    return run(builder.get(), [own, other], own.shape, "int32")


def residual_of(
    operator: Operator[Any], attrs: Attrs, dtypes: tuple[str, str], sign: int
) -> Residual:
    """Describe a sum, whose form takes values that do not count from the lowest."""
    form = affine_form(operator, attrs, dtypes, sign)
    assert form is not None
    low = [int(np.iinfo(dtype).min) for dtype in dtypes]
    moved = form.addend - form.lhs * low[0] - form.rhs * low[1]
    form = AffineForm(form.lhs, form.rhs, moved, form.shift, form.zero, form.below)
    output = OutputStage(attrs.out_dtype, attrs.output_zero_point, attrs.out_min, attrs.out_max)
    return Residual(dtypes[1], form, output)


def attrs_of(
    scales: tuple[float, float, float], zero_points: tuple[int, int, int], out_dtype: str
) -> Attrs:
    limits = np.iinfo(out_dtype)
    return Attrs(
        lhs_scale=scales[0],
        lhs_zero_point=zero_points[0],
        rhs_scale=scales[1],
        rhs_zero_point=zero_points[1],
        output_scale=scales[2],
        output_zero_point=zero_points[2],
        out_dtype=out_dtype,
        out_min=zero_points[2],
        out_max=int(limits.max) - 3,
    )


@needs_vnni
@pytest.mark.parametrize(
    ("scales", "zero_points", "dtypes"),
    [
        ((0.03714159, 0.02891234, 0.04183761), (131, 119, 128), ("uint8", "uint8", "uint8")),
        ((0.03714159, 0.02891234, 0.04183761), (-3, 7, -128), ("int8", "int8", "int8")),
        ((0.011235813, 0.09421357, 0.09976543), (12, 101, 3), ("uint8", "int8", "uint8")),
        ((0.31415926, 0.07182818, 0.05214753), (-90, 40, 5), ("int8", "uint8", "int8")),
        ((0.5, 0.5, 1.3090173), (128, 128, 30), ("uint8", "uint8", "uint8")),
    ],
)
@pytest.mark.parametrize(("operator", "sign"), [(quantized_add, 1), (quantized_subtract, -1)])
def test_every_pair_of_bytes_gives_the_reference(
    operator: Operator[Any],
    sign: int,
    scales: tuple[float, float, float],
    zero_points: tuple[int, int, int],
    dtypes: tuple[str, str, str],
) -> None:
    attrs = attrs_of(scales, zero_points, dtypes[2])
    residual = residual_of(operator, attrs, (dtypes[0], dtypes[1]), sign)
    low, high = int(np.iinfo(dtypes[0]).min) + 2, int(np.iinfo(dtypes[0]).max) - 5
    found = float_sum(OutputStage(dtypes[0], zero_points[0], low, high), residual)
    assert found is not None
    left, right = (BYTES + int(np.iinfo(dtype).min) for dtype in dtypes[:2])
    own, other = np.meshgrid(left, right, indexing="ij")
    # Outputs before their clamp, far beyond it at the ends.
    before = np.where(own == left[0], -(2.0**30), np.where(own == left[-1], 2.0**30, own))
    got = sums_of(
        found,
        before.astype(np.float32).view(np.int32).reshape(-1, 16),
        other.astype(np.int32).reshape(-1, 16),
    )
    clamped = np.clip(own, low, high).astype(dtypes[0])
    expected = operator.apply(attrs, clamped, other.astype(dtypes[1]))
    got = np.clip(got.reshape(own.shape), attrs.out_min, attrs.out_max)
    np.testing.assert_array_equal(got, expected)


def test_nearly_all_scales_have_one() -> None:
    rng = np.random.default_rng(0)
    found = 0
    for _ in range(12):
        lhs, rhs = (float(np.float32(scale)) for scale in rng.uniform(0.01, 0.1, 2))
        out = float(np.float32(max(lhs, rhs) * rng.uniform(0.8, 1.6)))
        left, right, result = (int(point) for point in rng.integers(60, 200, 3))
        attrs = attrs_of((lhs, rhs, out), (left, right, result), "uint8")
        residual = residual_of(quantized_add, attrs, ("uint8", "uint8"), 1)
        found += float_sum(OutputStage("uint8", 0, 0, 255), residual) is not None
    assert found == 12


@pytest.mark.parametrize(
    ("form", "why"),
    [
        # Sums below zero whose ties go the other way.
        (AffineForm(1, 2, 2, 2, zero=150, below=-1), "ties"),
        (AffineForm(20 << 10, 20 << 10, 0, 10), "too large"),
    ],
)
def test_there_is_none_without_a_proof(form: AffineForm, why: str) -> None:
    stage = OutputStage("uint8", 0, 0, 255)
    assert float_sum(stage, Residual("uint8", form, stage)) is None, why
