"""Every rule of ChannelsLast, by results: before and after, each integer is the same."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tvm
from tvm import relax
from tvm.relax import op

from legalize import LegalizeQnn
from legalize.passes.channels_last import ChannelsLast
from legalize.passes.channels_last_rules import RULES
from qnn_ops import (
    dequantize,
    float_conv2d,
    float_function,
    fused_multiply_add,
    quantize,
    quantized_add,
    quantized_concat,
    quantized_conv2d,
    quantized_lookup,
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
from qnn_ops.arrays import Array
from qnn_ops.dialect.registry import OPERATORS
from tests.legalize.passes.test_channels_last import FIRST, SUM
from tests.support.arrays import full_range
from tests.support.encodings import encodings
from tests.support.modules import module
from tests.support.operators import run_all
from tests.support.references import evaluate

Build = Callable[[relax.Expr, relax.Expr], relax.Expr]

TABLE = np.random.default_rng(7).integers(-128, 128, 256).astype(np.int8)
CHANGE = encodings(input=(0.31, -3), output=(0.17, 9), out_dtype="int8")
KERNEL = np.random.default_rng(8).integers(-128, 128, (6, 1, 3, 2)).astype(np.int8)
ROW = relax.const(np.arange(-2, 3, dtype=np.int8))
IDENTITY = relax.const(np.eye(3, dtype=np.int8).reshape(3, 3, 1, 1))
COPY: dict[str, Any] = {**FIRST, "kernel_scale": 1.0}
PLANES = relax.const(np.arange(3, dtype=np.int8).reshape(3, 1, 1))
# Here the order of ONNX Runtime's operands decides one result in twelve, and it hangs on their
# innermost axes.
ORDERED = encodings(
    lhs=(3 / 64, -97),
    rhs=(6 / 64, 99),
    output=(18 / 64, 108),
    out_dtype="int8",
    arithmetic="onnxruntime",
)
IMAGE = relax.const(np.random.default_rng(9).integers(-128, 128, (6, 5)).astype(np.int8))


def real(x: relax.Expr) -> relax.Expr:
    return dequantize(x, 0.1, 3)


# By operator: the call for two int8 images of shape [2, 3, 6, 5].
CASES: dict[str, list[Build]] = {
    "dequantize": [lambda x, _: dequantize(x, [0.1, 0.2, 0.3], [1, 2, 3], axis=1)],
    "quantize": [
        lambda x, _: quantize(real(x), [0.1, 0.2, 0.3], 0, "uint8", axis=1),
        lambda x, _: quantize(real(x), [0.1, 0.2, 0.3, 0.4, 0.5], 0, "int8"),
    ],
    "requantize": [lambda x, _: requantize(x, **{**CHANGE, "input_scale": [1.0] * 5})],
    "quantized_add": [
        lambda x, y: quantized_add(x, y, **SUM),
        lambda x, _: quantized_add(x, PLANES, **SUM),
        lambda x, _: quantized_add(ROW, x, **SUM),
        lambda x, _: quantized_add(x, relax.const(np.int8(3)), **SUM),
        lambda x, y: quantized_add(x, op.max(y, [0], False), **SUM),
        lambda x, y: quantized_add(x, op.max(y, [2, 3], True), **SUM),
        lambda x, y: quantized_add(x, y, **ORDERED),
        lambda x, y: quantized_add(x, op.max(y, [2, 3], True), **ORDERED),
        lambda x, y: quantized_add(op.max(x, [2, 3], True), y, **ORDERED),
        lambda x, _: quantized_add(x, IMAGE, **ORDERED),
        lambda x, _: quantized_add(IMAGE, x, **ORDERED),
    ],
    "quantized_multiply": [lambda x, y: quantized_multiply(x, y, **SUM)],
    "quantized_prelu": [lambda x, y: quantized_prelu(x, y, **SUM)],
    "quantized_squared_difference": [lambda x, y: quantized_squared_difference(x, y, **SUM)],
    "quantized_subtract": [lambda x, y: quantized_subtract(x, y, **SUM)],
    "quantized_concat": [
        lambda x, y: quantized_concat([x, y], [0.5] * 2, [3] * 2, 0.5, 3, "int8", axis=1),
        lambda x, y: quantized_concat([x, y], [0.5] * 2, [3] * 2, 0.5, 3, "int8"),
    ],
    "quantized_conv2d": [
        lambda x, _: quantized_conv2d(
            x,
            relax.const(KERNEL),
            strides=(2, 1),
            padding=(1, 0, 2, 1),
            dilation=(1, 2),
            groups=3,
            **{**FIRST, "kernel_scale": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]},
        ),
        lambda x, _: quantized_conv2d(x, relax.const(KERNEL), groups=3, **FIRST, out_layout="NHWC"),
        lambda x, y: quantized_conv2d(
            x,
            IDENTITY,
            **{**FIRST, "rounding": "onednn", "input_zero_point": 0, "output_zero_point": 0},
            bias=relax.const(np.arange(3, dtype=np.int32)),
            addend=y,
        ),
    ],
    "float_conv2d": [
        lambda x, _: float_conv2d(
            real(x),
            relax.const(KERNEL.astype(np.float32)),
            padding=1,
            groups=3,
            data_layout="NCHW",
            kernel_layout="OIHW",
        ),
        lambda x, y: float_conv2d(
            real(x),
            relax.const(np.ones((3, 3, 1, 1), np.float32)),
            relax.const(np.arange(3, dtype=np.float32)),
            real(y),
            data_layout="NCHW",
            kernel_layout="OIHW",
        ),
    ],
    "float_function": [lambda x, _: float_function(real(x), "erf")],
    "fused_multiply_add": [
        lambda x, y: fused_multiply_add(
            real(x), relax.const(np.arange(3, dtype=np.float32).reshape(3, 1, 1)), real(y)
        )
    ],
    "quantized_lookup": [lambda x, _: quantized_lookup(x, relax.const(TABLE))],
    "quantized_mean": [
        lambda x, _: quantized_mean(x, [2, 3], False, **CHANGE),
        lambda x, _: quantized_mean(x, [-1, 2], True, **CHANGE),
        lambda x, _: quantized_mean(x, [1], True, **CHANGE),
        lambda x, _: quantized_mean(x, 1, False, **CHANGE),
        lambda x, _: quantized_mean(x, [2], False, **CHANGE),
        lambda x, _: quantized_mean(x, [1, 2], True, **CHANGE),
        lambda x, _: quantized_mean(x, [], False, **CHANGE),
    ],
    "quantized_pad": [lambda x, _: quantized_pad(x, [0, 1, 2, 3, 4, 5, 6, 7], -7)],
    "quantized_pool2d": [
        lambda x, _: quantized_pool2d(x, "max", (2, 3), (1, 2), (1, 0)),
        lambda x, _: quantized_pool2d(x, "avg", (2, 3), (2, 1), (0, 1)),
    ],
    "quantized_relu": [lambda x, _: quantized_relu(x, kind="relu6", **CHANGE)],
    "quantized_resize2d": [
        lambda x, _: quantized_resize2d(x, [9, 3], "bilinear", layout="NCHW"),
        lambda x, _: quantized_resize2d(x, [9, 3], "nearest_neighbor", layout="NCHW"),
    ],
    "quantized_softmax": [
        lambda x, _: quantized_softmax(x, 0.1, 3, 1 / 256, -128, "int8", axis=1),
        lambda x, _: quantized_softmax(
            x, 0.1, 3, 1 / 256, -128, "int8", axis=3, arithmetic="onnxruntime"
        ),
    ],
}
FLOAT_CASES: dict[str, Build] = {
    "concat": lambda x, y: op.concat([x, y], 2),
    "permute": lambda x, _: op.permute_dims(x, [1, 0, 3, 2]),
    "reverse": lambda x, _: op.permute_dims(x),
    "clip": lambda x, _: op.clip(x, 0, 2),
    "where": lambda x, y: op.where(op.greater(x, y), x, y),
    "argmax": lambda x, _: op.argmax(x, 1),
    "argmax of rows": lambda x, _: op.argmax(x, 2, True),
    "argmax of all": lambda x, _: op.argmax(x),
    "max": lambda x, _: op.max(x, [2, 3]),
    "max of images": lambda x, _: op.max(x, [1, 2, 3]),
    "max of all": lambda x, _: op.max(x),
    "mean": lambda x, _: op.mean(x, [2, 3], True),
    "slice": lambda x, _: op.strided_slice(x, [1, -1], [0, 1], [2, 5], [1, 2]),
    "pad": lambda x, _: op.nn.pad(x, [0, 0, 1, 2, 0, 3, 0, 0], pad_value=1),
    "prelu": lambda x, _: op.nn.prelu(x, relax.const(np.array([0.1, 0.2, 0.3], np.float32))),
    "average": lambda x, _: op.nn.avg_pool2d(x, [2, 3], [2, 1], padding=[1, 0]),
    "global average": lambda x, _: op.nn.adaptive_avg_pool2d(x, [1, 1]),
    "resize": lambda x, _: op.image.resize2d(x, (3, 10), method="nearest_neighbor"),
    "split": lambda x, _: relax.TupleGetItem(op.split(x, 3, 1), 1),
}


def with_copies(builds: list[Build], *, is_float: bool = False) -> tvm.IRModule:
    """A module that applies the builds to what convolutions make of its inputs: the inputs."""

    def body(*images: relax.Expr) -> list[relax.Expr]:
        builder = relax.BlockBuilder.current()
        copies = [quantized_conv2d(image, IDENTITY, **COPY) for image in images]
        if is_float:
            copies = [dequantize(copy, 0.1, 3) for copy in copies]
        x, y = (builder.emit(copy) for copy in copies)
        return [build(x, y) for build in builds]

    types = {name: relax.TensorType((2, 3, 6, 5), "int8") for name in ("x", "y")}
    return relax.transform.Normalize()(module(types, body))


def images() -> list[Array]:
    rng = np.random.default_rng(11)
    return [full_range(rng, "int8", (2, 3, 6, 5)) for _ in range(2)]


@pytest.mark.parametrize("name", CASES)
def test_every_integer_is_the_same_after_a_convolution(name: str) -> None:
    before = with_copies(CASES[name])
    after = ChannelsLast()(before)
    assert 'data_layout="NCHW"' not in after.script()
    for old, new in zip(*(evaluate(mod, images()) for mod in (before, after)), strict=True):
        np.testing.assert_array_equal(old, new)


def test_every_operator_of_the_dialect_has_a_rule_and_a_case() -> None:
    # They read rows, whole tensors, or boxes.
    fixed = {each.name for each in OPERATORS.values() if each.traits.channels not in RULES}
    boxes = {"decode_boxes", "select_boxes", "suppress_boxes", "suppress_by_class"}
    rows = {"average_rows", "dynamic_encoding", "dynamic_quantize", "scatter_rows", "top_indices"}
    rows |= {"counted_indices", "hash_signs", "natural_power", "reduce_windows"}
    rows |= {"reinterpret", "row_moments"}
    products = {"blockwise_dense", "float_matmul", "quantized_dense", "quantized_matmul"}
    steps = {"quantized_lstm", "quantized_svdf", "quantized_svdf_state"}
    assert fixed == rows | products | boxes | steps
    assert {each.name for each in OPERATORS.values()} - fixed == set(CASES)


def test_every_float_is_the_same_after_a_convolution() -> None:
    before = with_copies(list(FLOAT_CASES.values()), is_float=True)
    after = ChannelsLast()(before)
    assert 'layout="NCHW"' not in after.script()
    results = (run_all(LegalizeQnn()(mod), images()) for mod in (before, after))
    for name, old, new in zip(FLOAT_CASES, *results, strict=True):
        np.testing.assert_array_equal(old, new, err_msg=name)
