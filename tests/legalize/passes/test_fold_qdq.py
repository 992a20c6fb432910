"""Groups of dequantize, float operator and quantize, written by hand."""

import gc
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tvm
from tvm import relax
from tvm.relax import op as R

from legalize.lower import lower
from legalize.passes.fold_qdq import FoldQdq, fold_qdq
from legalize.passes.rewriter import Facts
from qnn_ops import quantized_add, quantized_conv2d, quantized_dense, quantized_mean
from qnn_ops.dialect.registry import Attrs, attrs_of
from qnn_ops.dialect.signature import ARITHMETIC
from qnn_ops.errors import LeftInFloatWarning, QnnError
from tests.support.errors import fails
from tests.support.modules import calls_of, module
from tests.support.operators import run

RNG = np.random.default_rng(0)
WEIGHTS = RNG.integers(-127, 128, (6, 4, 3, 3)).astype(np.int8)
SCALES = RNG.choice([0.5, 0.0113, 0.25], 6).astype(np.float32)
BIAS = RNG.integers(-5000, 5000, 6).astype(np.int32)
IMAGE = (1, 4, 9, 9)


def dq(x: Any, scale: Any, point: int, dtype: str, axis: int = 1) -> relax.Expr:
    if isinstance(x, np.ndarray):
        x = relax.const(x, str(x.dtype))
    points = np.full(np.shape(scale), point, dtype)
    constants = relax.const(np.asarray(scale, np.float32)), relax.const(points, dtype)
    return R.dequantize(x, *constants, axis=axis)


def q(x: relax.Expr, scale: float, point: int, dtype: str) -> relax.Expr:
    constants = relax.const(np.float32(scale)), relax.const(np.asarray(point, dtype), dtype)
    return R.quantize(x, *constants, axis=1, out_dtype=dtype)


def conv(x: relax.Expr, dtype: str, out: tuple[float, int], relu: bool = False) -> relax.Expr:
    weights = dq(WEIGHTS, SCALES, 0, "int8", 0)
    result = R.nn.conv2d(dq(x, 0.04, 3, dtype), weights, padding=1)
    bias = R.reshape(dq(BIAS, SCALES * np.float32(0.04), 0, "int32", 0), (1, 6, 1, 1))
    result = R.add(result, bias)
    return q(R.nn.relu(result) if relu else result, *out, dtype)


def image(dtype: str) -> dict[str, relax.Type]:
    return {"x": relax.TensorType(IMAGE, dtype)}


def calls(mod: tvm.IRModule) -> list[str]:
    return [call.op.name for call in calls_of(mod)]


def folded(mod: tvm.IRModule) -> tvm.IRModule:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return fold_qdq(mod)


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
@pytest.mark.parametrize("float_bias", [False, True])
def test_a_convolution(dtype: str, float_bias: bool) -> None:
    def body(x: relax.Expr) -> relax.Expr:
        if not float_bias:
            return conv(x, dtype, (5.0, 7))
        weights = dq(WEIGHTS, SCALES, 0, "int8", 0)
        result = R.nn.conv2d(dq(x, 0.04, 3, dtype), weights, padding=1)
        real = BIAS * (np.float32(0.04) * SCALES)
        return q(R.add(result, relax.const(real.reshape(1, 6, 1, 1))), 5.0, 7, dtype)

    mod = folded(module(image(dtype), body))
    assert calls(mod) == ["relax.qnn.quantized_conv2d"]
    data = RNG.integers(0, 256, IMAGE).astype(np.uint8).view(dtype)
    encodings = (0.04, 3, SCALES.tolist(), 0, 5.0, 7, dtype)
    wanted = quantized_conv2d.evaluate(
        data, WEIGHTS, *encodings, padding=1, bias=BIAS, rounding="float32"
    )
    lowered = lower(mod, tvm.target.Target("llvm"))
    np.testing.assert_array_equal(run(lowered, [data]), wanted)


def test_a_tensor_with_two_readers_and_a_sum() -> None:
    def body(x: relax.Expr) -> relax.Expr:
        first = conv(x, "int8", (5.0, -7))
        weights = RNG.integers(-127, 128, (6, 6, 1, 1)).astype(np.int8)
        product = R.nn.conv2d(dq(first, 5.0, -7, "int8"), dq(weights, 0.02, 0, "int8"))
        second = q(product, 9.0, 4, "int8")
        return q(R.add(dq(second, 9.0, 4, "int8"), dq(first, 5.0, -7, "int8")), 11.0, 1, "int8")

    mod = folded(module(image("int8"), body))
    assert calls(mod) == [
        "relax.qnn.quantized_conv2d",
        "relax.qnn.quantized_conv2d",
        "relax.qnn.quantized_add",
    ]
    data = RNG.integers(-128, 128, IMAGE).astype(np.int8)
    host = {"kind": "llvm", "mcpu": "x86-64-v3"}
    by_kernels = run(lower(mod, tvm.target.Target(host)), [data], host)
    by_primitives = run(lower(mod, tvm.target.Target("llvm"), kernels=False), [data])
    np.testing.assert_array_equal(by_kernels, by_primitives)


def test_pools_dense_and_movement() -> None:
    matrix = RNG.integers(-127, 128, (10, 6)).astype(np.int8)
    bias = RNG.integers(-500, 500, 10).astype(np.int32)

    def body(x: relax.Expr) -> relax.Expr:
        first = conv(x, "uint8", (5.0, 0), relu=True)
        pooled = q(R.nn.max_pool2d(dq(first, 5.0, 0, "uint8"), (2, 2), (2, 2)), 5.0, 0, "uint8")
        mean = R.mean(dq(pooled, 5.0, 0, "uint8"), [2, 3], keepdims=True)
        mean = q(mean, 3.0, 0, "uint8")
        flat = R.reshape(dq(mean, 3.0, 0, "uint8"), (1, 6))
        product = R.matmul(flat, R.permute_dims(dq(matrix, 0.01, 0, "int8")))
        real = R.add(product, dq(bias, 0.03, 0, "int32", 0))
        return q(real, 0.5, 128, "uint8")

    mod = folded(module(image("uint8"), body))
    assert calls(mod) == [
        "relax.qnn.quantized_conv2d",
        "relax.qnn.quantized_pool2d",
        "relax.qnn.quantized_mean",
        "relax.reshape",
        "relax.qnn.quantized_dense",
    ]
    data = RNG.integers(0, 256, IMAGE).astype(np.uint8)
    encodings = (0.04, 3, SCALES.tolist(), 0, 5.0, 0, "uint8")
    values = quantized_conv2d.evaluate(
        data, WEIGHTS, *encodings, padding=1, bias=BIAS, rounding="float32"
    )
    values = values[:, :, :8, :8].reshape(1, 6, 4, 2, 4, 2).max(axis=(3, 5))
    ort: dict[str, Any] = {"arithmetic": "onnxruntime"}
    values = quantized_mean.evaluate(values, [2, 3], False, 5.0, 0, 3.0, 0, "uint8", **ort)
    encodings = (3.0, 0, 0.01, 0, 0.5, 128, "uint8")
    wanted = quantized_dense.evaluate(values, matrix, *encodings, bias=bias, rounding="float32")
    np.testing.assert_array_equal(run(lower(mod, tvm.target.Target("llvm")), [data]), wanted)


def test_a_sum_has_the_dtype_of_the_model() -> None:
    def body(x: relax.Expr) -> relax.Expr:
        return q(R.add(dq(x, 0.3, 3, "int8"), dq(x, 0.7, 9, "int8")), 0.9, -5, "int8")

    mod = folded(module(image("int8"), body))
    attrs = attrs_of(calls_of(mod)[0])
    assert (attrs.arithmetic, attrs.model_dtype) == ("onnxruntime", "int8")
    data = RNG.integers(-128, 128, IMAGE).astype(np.int8)
    wanted = quantized_add.evaluate(
        data, data, 0.3, 3, 0.7, 9, 0.9, -5, "int8", arithmetic="onnxruntime"
    )
    np.testing.assert_array_equal(run(lower(mod, tvm.target.Target("llvm")), [data]), wanted)


def _two_readers(x: relax.Expr) -> Any:
    real = R.nn.max_pool2d(dq(x, 0.3, 3, "uint8"), (2, 2))
    return [q(real, 0.3, 3, "uint8"), real]


def _relu_inside(x: relax.Expr) -> relax.Expr:
    return conv(x, "uint8", (5.0, 7), relu=True)


def _other_dtype(x: relax.Expr) -> relax.Expr:
    return q(R.nn.max_pool2d(dq(x, 0.3, 3, "uint8"), (2, 2)), 0.3, 3, "int8")


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (_two_readers, "relax.nn.max_pool2d: the result of relax.nn.max_pool2d has other readers"),
        (_relu_inside, "its range is wider than the activation's"),
        (_other_dtype, "must be of one 8-bit dtype, got uint8 and int8"),
        (
            lambda x: q(R.sum(dq(x, 0.3, 3, "uint8"), 1), 0.3, 3, "uint8"),
            "no integers for relax.sum",
        ),
    ],
)
def test_what_stays_float_is_told(body: Callable[..., Any], reason: str) -> None:
    mod = module(image("uint8"), body)
    with pytest.warns(LeftInFloatWarning, match=reason):
        result = fold_qdq(mod)
    assert not any("qnn.quantized" in name for name in calls(result))


def test_what_becomes_a_table_is_not_told() -> None:
    def body(x: relax.Expr) -> relax.Expr:
        real = dq(x, 0.3, 3, "uint8")
        return q(R.minimum(R.exp(real), R.multiply(real, real)), 0.3, 3, "uint8")

    mod = module(image("uint8"), body)
    assert "relax.minimum" in calls(folded(mod))
    mod["main"] = mod["main"].with_attr(ARITHMETIC, "onnxruntime")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "relax.minimum" not in calls(lower(mod, tvm.target.Target("llvm")))


def test_a_module_that_promises_integers_says_what_has_no_rule() -> None:
    def body(x: relax.Expr) -> relax.Expr:
        pooled = R.nn.avg_pool2d(dq(x, 0.3, 3, "uint8"), (2, 2), ceil_mode=True)
        return q(pooled, 0.3, 3, "uint8")

    mod = module(image("uint8"), body)
    assert FoldQdq()(mod) is not None
    mod["main"] = mod["main"].with_attr(ARITHMETIC, "onnxruntime")
    fails(r"no rule: relax\.nn\.avg_pool2d: an average of windows", FoldQdq(), mod)


def test_only_a_module_that_says_so_is_folded_when_it_is_lowered() -> None:
    mod = module(image("uint8"), lambda x: conv(x, "uint8", (5.0, 7)))
    assert calls(FoldQdq()(mod)) == calls(mod)
    mod["main"] = mod["main"].with_attr(ARITHMETIC, "onnxruntime")
    assert calls(FoldQdq()(mod)) == ["relax.qnn.quantized_conv2d"]


def test_another_arithmetic_is_refused() -> None:
    with pytest.raises(QnnError, match="one of onnxruntime, xnnpack, got 'litert'"):
        fold_qdq(module(image("uint8"), lambda x: x), arithmetic="litert")


def xnnpack(mod: tvm.IRModule) -> list[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return calls(fold_qdq(mod, "xnnpack"))


def xnnpack_attrs(mod: tvm.IRModule) -> Attrs:
    """Return the attributes of the only call that is left."""
    (call,) = calls_of(relax.transform.DeadCodeElimination()(fold_qdq(mod, "xnnpack")))
    return attrs_of(call)


def test_xnnpack_bounds_a_convolution_by_its_activation() -> None:
    mod = module(image("int8"), lambda x: conv(x, "int8", (5.0, 7), relu=True))
    assert xnnpack(mod) == ["relax.qnn.quantized_conv2d"]
    attrs = xnnpack_attrs(mod)
    assert (attrs.out_min, attrs.out_max) == (7, 127)


def test_xnnpack_bounds_integers_that_have_their_activation_later() -> None:
    def body(x: relax.Expr) -> relax.Expr:
        first = conv(x, "int8", (5.0, 7))
        ended = R.clip(dq(first, 5.0, 7, "int8"), 0.0, 30.0)
        return q(ended, 5.0, 7, "int8")

    assert xnnpack(module(image("int8"), body)) == ["relax.qnn.quantized_conv2d"]


def test_xnnpack_ends_no_product_in_relu() -> None:
    def body(x: relax.Expr) -> relax.Expr:
        other = dq(R.permute_dims(x, [0, 1, 3, 2]), 0.5, 3, "int8")
        product = R.multiply(dq(x, 0.5, 3, "int8"), other)
        return q(R.nn.relu(product), 5.0, 7, "int8")

    with pytest.warns(LeftInFloatWarning, match="XNNPACK does not end relax.multiply in an"):
        fold_qdq(module(image("int8"), body), "xnnpack")


def test_xnnpack_quantizes_before_it_pads() -> None:
    def body(x: relax.Expr) -> relax.Expr:
        padded = R.nn.pad(dq(x, 0.5, 3, "int8"), [0, 0, 0, 0, 1, 1, 1, 1], "constant", 1.0)
        return q(padded, 0.5, 3, "int8")

    mod = module(image("int8"), body)
    assert xnnpack(mod) == ["relax.qnn.quantized_pad"]
    assert xnnpack_attrs(mod).pad_value == 5


def test_xnnpack_makes_a_table_of_an_activation_between_two_scales() -> None:
    def body(x: relax.Expr) -> relax.Expr:
        return q(R.clip(dq(x, 0.5, 3, "int8"), 0.0, 6.0), 0.25, 7, "int8")

    assert xnnpack(module(image("int8"), body)) == ["relax.qnn.quantized_lookup"]


def test_xnnpack_ends_a_convolution_in_an_activation_of_another_scale() -> None:
    def body(x: relax.Expr) -> relax.Expr:
        made = dq(conv(x, "int8", (5.0, 7)), 5.0, 7, "int8")
        return q(R.clip(made, 0.0, 30.0), 0.5, -128, "int8")

    attrs = xnnpack_attrs(module(image("int8"), body))
    assert (attrs.output_scale, attrs.output_zero_point, attrs.out_max) == (0.5, -128, -68)


def test_what_the_pass_held_is_freed_at_once() -> None:
    mod = module(image("int8"), lambda x: conv(x, "int8", (0.1, 3)))
    gc.collect()
    gc.disable()  # it would free what holds itself
    try:
        FoldQdq("onnxruntime")(mod)
        assert not [each for each in gc.get_objects() if type(each) is Facts]
    finally:
        gc.enable()
