from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
import tvm
from tvm import relax

from legalize.passes.prefer_signedness import PreferSignedness
from qnn_ops import (
    dequantize,
    dynamic_quantize,
    quantize,
    quantized_add,
    quantized_concat,
    quantized_conv2d,
    quantized_dense,
    quantized_lookup,
    quantized_matmul,
    quantized_mean,
    quantized_multiply,
    quantized_pad,
    quantized_pool2d,
    quantized_prelu,
    quantized_relu,
    quantized_resize2d,
    quantized_softmax,
    quantized_squared_difference,
    quantized_subtract,
    requantize,
)
from qnn_ops.dialect.registry import OPERATORS, operator_of
from tests.support.arrays import full_range
from tests.support.encodings import encodings
from tests.support.modules import emit, module
from tests.support.references import evaluate

CONV = encodings(
    input_scale=0.5, kernel=(0.25, 0), output_scale=0.5, data_layout="NHWC", kernel_layout="OHWI"
)
CHANGE = encodings(input=(0.31, -3), output=(0.17, 9), out_dtype="int8")
SUM = encodings(
    lhs=(0.3, 4), rhs=(0.2, -9), output=(0.4, 7), out_dtype="int8", out_min=-100, out_max=90
)


def test_what_a_convolution_reads_becomes_unsigned() -> None:
    inputs = {
        "x": relax.TensorType((1, 4, 4, 2), "int8"),
        "w": relax.TensorType((2, 1, 1, 2), "int8"),
    }

    def convolutions(result: dict[str, Any], point: int) -> tvm.IRModule:
        last: dict[str, Any] = {"output_zero_point": 0, "out_dtype": "int8", **CONV}

        def body(x: relax.Expr, w: relax.Expr) -> relax.Call:
            first = quantized_conv2d(x, w, input_zero_point=3, **result, **CONV)
            return quantized_conv2d(first, w, input_zero_point=point, **last)

        return module(inputs, body)

    before = convolutions({"output_zero_point": -5, "out_dtype": "int8", "out_min": -5}, -5)
    # The input stays as it is given, the output as it is asked for.
    unsigned = {"output_zero_point": 123, "out_dtype": "uint8", "out_min": 123, "out_max": 255}
    expected = convolutions(unsigned, 123)
    tvm.ir.assert_structural_equal(PreferSignedness("uint8")(before), expected)


def test_what_is_also_returned_is_moved_back() -> None:
    inputs = {"x": relax.TensorType((2, 3), "float32"), "w": relax.TensorType((4, 6), "int8")}

    def body(point: int, dtype: str, x: relax.Expr, w: relax.Expr) -> list[relax.Expr]:
        shown = given = emit(quantize(x, 0.5, point, dtype))
        if dtype == "uint8":
            back = encodings(input=(1.0, 128), output=(1.0, 0), out_dtype="int8")
            shown = emit(requantize(given, **back))
        dense = encodings(input=(0.5, point), kernel=(0.25, 0), output=(0.5, 0), out_dtype="int8")
        return [shown, quantized_dense(relax.op.reshape(given, (1, 6)), w, **dense)]

    before, expected = (
        module(inputs, partial(body, *ends)) for ends in ((1, "int8"), (129, "uint8"))
    )
    tvm.ir.assert_structural_equal(PreferSignedness("uint8")(before), expected)


def test_where_nothing_multiplies_all_is_left_alone() -> None:
    def body(x: relax.Expr) -> relax.Call:
        total = emit(quantized_add(x, x, **SUM))
        double = quantized_add(total, total, **SUM)
        return quantized_pool2d(double, pool_type="max", pool_size=1, layout="NHWC")

    before = module({"x": relax.TensorType((1, 4, 4, 2), "int8")}, body)
    tvm.ir.assert_structural_equal(PreferSignedness("uint8")(before), before)


def _convolution(x: relax.Expr, dtype: str, groups: int = 1) -> relax.Call:
    kernel = relax.const(np.ones((2, 1, 1, 2 // groups), np.int8), "int8")
    zeros: dict[str, Any] = {"input_zero_point": 0, "output_zero_point": 0, "out_dtype": dtype}
    return quantized_conv2d(x, kernel, **zeros, groups=groups, **CONV)


def _dtypes(after: tvm.IRModule) -> list[str]:
    """Return the dtypes of the results of the operators, in order."""
    bindings = after["main"].body.blocks[0].bindings
    kept = (quantized_conv2d, quantized_pool2d, quantized_add)
    return [str(each.var.ty.dtype) for each in bindings if operator_of(each.value) in kept]


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
def test_what_a_depthwise_convolution_reads_becomes_the_dtype(dtype: str) -> None:
    other = {"uint8": "int8", "int8": "uint8"}[dtype]

    def chain(x: relax.Expr) -> list[relax.Expr]:
        return [_convolution(_convolution(x, other, 2), other, 2)]

    ty = relax.TensorType((1, 4, 4, 2), other)
    assert _dtypes(PreferSignedness(dtype)(module({"x": ty}, chain))) == [dtype, other]


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
def test_what_all_readers_take_either_way_becomes_the_dtype(dtype: str) -> None:
    """Through operators that keep values, but not results of the model or operands of floats."""
    other = {"uint8": "int8", "int8": "uint8"}[dtype]
    sums = encodings(lhs=(0.5, 3), rhs=(0.5, 3), output=(0.5, 5), out_dtype=other)

    def chain(x: relax.Expr) -> list[relax.Expr]:
        first = _convolution(_convolution(x, other), other)
        kept = quantized_pool2d(first, pool_type="max", pool_size=1, layout="NHWC")
        told = quantized_add(kept, kept, **sums)
        return [quantized_add(told, told, **sums), dequantize(told, 0.5, 5)]

    ty = relax.TensorType((1, 4, 4, 2), other)
    after = PreferSignedness(dtype)(module({"x": ty}, chain))
    assert _dtypes(after) == [dtype, dtype, dtype, other, other]


@pytest.mark.parametrize("is_returned", [False, True])
@pytest.mark.parametrize("dtype", ["uint8", "int8"])
def test_parts_of_a_tensor_and_other_names_of_it_become_the_dtype(
    dtype: str, is_returned: bool
) -> None:
    """A part that the model returns, too, is moved back."""
    other = {"uint8": "int8", "int8": "uint8"}[dtype]

    def chain(x: relax.Expr) -> list[relax.Expr]:
        builder = relax.BlockBuilder.current()
        parts = builder.emit(relax.op.split(_convolution(x, other), 2, axis=1))
        first, second = (builder.emit(parts[index]) for index in range(2))
        again = builder.emit(first)
        pooled = quantized_pool2d(second, pool_type="max", pool_size=1, layout="NHWC")
        fields = [again, builder.emit(pooled)]
        joined = quantized_concat(fields, [0.5] * 2, [0] * 2, 0.5, 0, other, axis=1)
        results = [_convolution(builder.emit(joined), other)]
        return [*results, first] if is_returned else results

    before = module({"x": relax.TensorType((1, 4, 4, 2), other)}, chain)
    after = PreferSignedness(dtype)(before)
    assert _dtypes(after) == [dtype, dtype, other]
    data = full_range(np.random.default_rng(5), other, (1, 4, 4, 2))
    for new, old in zip(evaluate(after, [data]), evaluate(before, [data]), strict=True):
        np.testing.assert_array_equal(new, old)


Build = Callable[[list[Any], str], relax.Call]
_TABLE = np.random.default_rng(7).integers(-128, 128, 256).astype(np.int8)


def _at(dtype: str, value: int) -> int:
    """Return the value that is ``value`` for int8."""
    return value + 128 if dtype == "uint8" else value


def _placed(dtype: str, **attrs: Any) -> dict[str, Any]:
    """Attributes for int8, moved to ``dtype``."""
    points = ("zero_point", "out_min", "out_max")
    placed = {
        name: _at(dtype, value) if name.endswith(points) else value for name, value in attrs.items()
    }
    return {**placed, "out_dtype": dtype} if "out_dtype" in attrs else placed


# From two images of a dtype to one.
CASES: dict[str, Build] = {
    "add": lambda x, d: quantized_add(*x, **_placed(d, **SUM)),
    "subtract": lambda x, d: quantized_subtract(*x, **_placed(d, **SUM)),
    "multiply": lambda x, d: quantized_multiply(*x, **_placed(d, **SUM)),
    "prelu": lambda x, d: quantized_prelu(*x, **_placed(d, **SUM)),
    "squared_difference": lambda x, d: quantized_squared_difference(*x, **_placed(d, **SUM)),
    "relu": lambda x, d: quantized_relu(x[0], kind="relu6", **_placed(d, **CHANGE)),
    "requantize": lambda x, d: requantize(x[0], **_placed(d, **CHANGE)),
    "requantize_per_channel": lambda x, d: requantize(
        x[0],
        **{
            **_placed(d, **CHANGE),
            "input_scale": [0.1, 0.2, 0.3],
            "input_zero_point": [_at(d, point) for point in (1, -2, 3)],
        },
    ),
    "mean": lambda x, d: quantized_mean(x[0], [1], True, **_placed(d, **CHANGE)),
    "softmax": lambda x, d: quantized_softmax(x[0], 0.1, _at(d, 3), 1 / 256, _at(d, -128), d),
    "lookup": lambda x, d: quantized_lookup(x[0], relax.const(_TABLE.view(d), d)),
    "concat": lambda x, d: quantized_concat(
        x, [0.5] * 2, [_at(d, 3)] * 2, 0.5, _at(d, 3), d, axis=1
    ),
    "onnxruntime_concat": lambda x, d: quantized_concat(
        x,
        [0.5, 0.3],
        [_at(d, 3), _at(d, -38)],
        0.41,
        _at(d, -8),
        d,
        axis=3,
        arithmetic="onnxruntime",
    ),
    "pad": lambda x, d: quantized_pad(x[0], [0, 0, 1, 0, 0, 2, 0, 0], _at(d, -77)),
    "max_pool": lambda x, d: quantized_pool2d(
        x[0], "max", 2, padding=1, layout="NHWC", **_placed(d, out_min=-40, out_max=50)
    ),
    "average_pool": lambda x, d: quantized_pool2d(x[0], "avg", 2, padding=1, layout="NHWC"),
    "bounded_average_pool": lambda x, d: quantized_pool2d(
        x[0], "avg", (2, 1), layout="NHWC", **_placed(d, out_min=-40, out_max=50)
    ),
    "nearest": lambda x, d: quantized_resize2d(x[0], [9, 3], "nearest_neighbor"),
    "bilinear": lambda x, d: quantized_resize2d(x[0], [9, 3], "bilinear"),
    "convolution": lambda x, d: quantized_conv2d(
        x[0],
        relax.const(np.arange(-13, 14, dtype=np.int8).reshape(3, 1, 3, 3), "int8"),
        **_placed(d, input_zero_point=-7, output_zero_point=5, out_dtype=d),
        padding=1,
        **CONV,
    ),
    "dense": lambda x, d: quantized_dense(
        x[0],
        relax.const(np.arange(-4, 5, dtype=np.int8).reshape(3, 3), "int8"),
        input_scale=0.5,
        kernel_scale=0.25,
        kernel_zero_point=0,
        output_scale=0.5,
        **_placed(d, input_zero_point=6, output_zero_point=-9, out_dtype=d),
    ),
    "matmul": lambda x, d: quantized_matmul(
        x[0],
        x[1],
        lhs_scale=0.5,
        rhs_scale=0.25,
        output_scale=9.0,
        **_placed(d, lhs_zero_point=6, rhs_zero_point=-1, output_zero_point=-9, out_dtype=d),
        transpose_rhs=True,
    ),
}
# Concatenations that convert exist for uint8 only, and are moved to int8 only.
UNSIGNED_CASES: dict[str, Build] = {
    "converting_concat": lambda x, d: quantized_concat(
        x, [0.5, 0.3], [131, 90], 0.41, 120, d, axis=3
    )
}


def test_every_operator_that_can_be_moved_has_a_case() -> None:
    images = [relax.Var(name, relax.TensorType((1, 6, 5, 3), "int8")) for name in "xy"]
    calls = [build(images, "int8") for build in CASES.values()]
    can = {each for each in OPERATORS.values() if each.traits.zero_points or each.traits.moved}
    # What is quantized is no 8-bit image yet.
    assert {operator_of(call) for call in calls} == can - {quantize, dynamic_quantize}


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        *((name, dtype) for dtype in ("uint8", "int8") for name in CASES),
        ("converting_concat", "int8"),
    ],
)
def test_every_result_is_the_same_between_two_convolutions(name: str, dtype: str) -> None:
    other = {"uint8": "int8", "int8": "uint8"}[dtype]
    rng = np.random.default_rng(11)
    arrays = [full_range(rng, other, (1, 6, 5, 3)) for _ in range(2)]
    zero = _at(other, 0)
    ends = {**CONV, "input_zero_point": zero, "kernel_scale": 1.0, "output_zero_point": zero}

    def copy(data: relax.Expr) -> relax.Expr:
        channels = int(data.ty.shape[3])
        kernel = relax.const(np.eye(channels, dtype=np.int8).reshape(-1, 1, 1, channels), "int8")
        return emit(quantized_conv2d(data, kernel, out_dtype=other, **ends))

    def body(*images: relax.Expr) -> relax.Expr:
        build = {**CASES, **UNSIGNED_CASES}[name]
        return copy(emit(build([copy(copy(image)) for image in images], other)))

    before = module({f"x{i}": array for i, array in enumerate(arrays)}, body)
    after = PreferSignedness(dtype)(before)
    dtypes = {str(binding.var.ty.dtype) for binding in after["main"].body.blocks[0].bindings[:-1]}
    assert dtype in dtypes
    if name == "onnxruntime_concat":
        # It converts by itself, in one pass.
        assert "R.qnn.quantized_lookup" not in after.script()
    (old,), (new,) = (evaluate(mod, arrays) for mod in (before, after))
    np.testing.assert_array_equal(new, old)


def test_float_data_is_quantized_to_either() -> None:
    rng = np.random.default_rng(3)
    data = rng.normal(size=(4, 6)).astype(np.float32) * 100
    low = quantize.evaluate(data, 0.5, -3, "int8").astype(np.int64)
    np.testing.assert_array_equal(quantize.evaluate(data, 0.5, 125, "uint8"), low + 128)
