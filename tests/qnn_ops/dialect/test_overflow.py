from typing import Any

import numpy as np
import pytest
import tvm
from tvm import relax

from qnn_ops import (
    QnnError,
    quantized_add,
    quantized_concat,
    quantized_conv2d,
    quantized_dense,
    quantized_lookup,
    quantized_mean,
    quantized_multiply,
    quantized_relu,
    quantized_softmax,
    quantized_subtract,
    requantize,
)
from qnn_ops.arrays import Array
from qnn_ops.dialect.overflow import check_overflow
from tests.support.errors import fails

UNDEFINED = "which int32 does not hold"


def variable(shape: tuple[int, ...], dtype: str = "int8", name: str = "x") -> relax.Var:
    return relax.Var(name, relax.TensorType(shape, dtype))


def check(call: relax.Expr, **params: Array) -> str:
    tensors = {name: tvm.runtime.tensor(array) for name, array in params.items()}
    return check_overflow(relax.BlockBuilder().normalize(call), tensors)


def dense(bias: int, out_dtype: str = "int8", **attrs: Any) -> relax.Call:
    """Two units of one product each, the second of which has this bias."""
    return quantized_dense(
        variable((1, 1)),
        relax.const(np.array([[1], [100]], np.int8)),
        *(1.0, 0, 1.0, 0, 2.0**24, 0, out_dtype),
        bias=relax.const(np.array([0, bias], np.int32)),
        **attrs,
    )


def test_a_dense_layer() -> None:
    most = 2**31 - 1 - 128 * 100
    assert check(dense(-most - 1)) == ""
    # LiteRT's wraps.
    wraps = "quantized_dense: the accumulator of output channel 1, bias included, can reach"
    assert check(dense(-most - 2)).startswith(wraps)
    fails(rf"^{wraps}", check, dense(-most - 2, rounding="upward"))
    # oneDNN adds the bias in float32.
    assert check(dense(-most - 2, rounding="onednn")) == ""
    check(dense(-most - 1, "int32"))
    fails(UNDEFINED, check, dense(-most - 2, "int32"))


def test_weights_of_a_run_may_be_anything() -> None:
    def product(depth: int, dtype: str) -> str:
        data, weight = variable((1, depth), dtype), variable((2, depth), "int8", "w")
        scales = (1.0, 0, 1.0, 0, 2.0**24, 0, dtype)
        return check(quantized_dense(data, weight, *scales))

    assert product(131071, "int8") == ""
    assert "can reach" in product(131073, "int8")
    assert product(1 << 20, "int16") == ""


@pytest.mark.parametrize("layout", ["OIHW", "OHWI", "HWIO", "IHWO", "HWOI"])
def test_a_convolution_of_any_layout_reads_its_parameters(layout: str) -> None:
    oihw = np.zeros((3, 2, 4, 5), np.uint8)
    oihw[1] = 255
    kernel = oihw.transpose(["OIHW".index(axis) for axis in layout])
    sums = 2 * 4 * 5 * 255 * 255
    call = quantized_conv2d(
        variable((1, 2, 9, 9), "uint8"),
        variable(kernel.shape, "uint8", "w"),
        *(1.0, 0, 1.0, 0, 2.0**24, 0, "uint8"),
        kernel_layout=layout,
        bias=variable((3,), "int32", "b"),
    )
    bias = np.array([2**31 - 1, 2**31 - 1 - sums, 2**31 - 1], np.int32)
    check(call, w=np.ascontiguousarray(kernel), b=bias)
    bias[1] += 1
    wraps = check(call, w=np.ascontiguousarray(kernel), b=bias)
    assert "channel 1, bias included, can reach 2147483648" in wraps
    fails("must be constant", check, call, w=np.ascontiguousarray(kernel))


@pytest.mark.parametrize("operator", [quantized_add, quantized_subtract])
def test_sums_of_tensors(operator: Any) -> None:
    def call(scale: float) -> relax.Call:
        return operator(variable((4,)), variable((4,)), 1.0, 0, 0.5, 0, scale, 0, "int8")

    check(call(2.0**-19 * 1.0001))
    check(call(3.2e32))
    fails("too small: TFLite defines sums of operands of scale 1 ", check, call(2.0**-19))
    fails("too large", check, call(3.3e32))


def test_products_of_tensors() -> None:
    def call(scale: float) -> relax.Call:
        return quantized_multiply(
            variable((4,)), variable((4,)), 1.0, 127, 1.0, -128, scale, 0, "int8"
        )

    # 255 * 255 * 2^14 fits, and twice as much, too.
    assert check(call(2.0**-14 * 1.0001)) == ""
    assert check(call(2.0**-15 * 1.0001)) == ""
    assert "shifted left by 16 bits to be scaled, can reach -4261478400, which" in check(
        call(2.0**-15)
    )
    fails("must be finite", check, call(1e-45))


def test_means() -> None:
    def call(scale: float) -> relax.Call:
        return quantized_mean(variable((64, 4)), 0, False, 1.0, -128, scale, 0, "int8")

    # 64 values of up to 255 are 2^14 less a little; the division takes 6 bits of the shift.
    check(call(2.0**-22 * 1.0001))
    fails(UNDEFINED, check, call(2.0**-23))


@pytest.mark.parametrize(
    ("call", "fits"),
    [
        (lambda s: requantize(variable((4,)), 1.0, -128, s, 0, "int8"), 2.0**-22),
        (lambda s: requantize(variable((2,)), [1e-9, 1.0], 0, s, 0, "int8"), 2.0**-23),
        (lambda s: quantized_relu(variable((4,)), 1.0, 0, s, 0, "int8"), 2.0**-22),
        (
            lambda s: quantized_concat([variable((4,), "uint8")], [1.0], [0], s, 0, "uint8"),
            2.0**-23,
        ),
    ],
)
def test_changes_of_scale(call: Any, fits: float) -> None:
    check(call(fits * 1.0001))
    fails(UNDEFINED, check, call(fits / 4))


def test_what_is_not_bounded_passes() -> None:
    check(requantize(variable((4,), "int32"), 1.0, 0, 2.0**-20, 0, "int8"))
    check(requantize(variable((4,)), 1.0, 0, 2.0**-40, 0, "int8", rounding="float32"))
    check(quantized_lookup(variable((4,)), relax.const(np.zeros(256, np.int8))))
    check(relax.op.add(variable((4,)), variable((4,))))


def test_a_clamp_beyond_int32() -> None:
    with pytest.raises(QnnError, match="too small for relu6"):
        check(quantized_relu(variable((4,)), 2e-9, 0, 2e-9, 0, "int8", kind="relu6"))


def test_softmax_below_its_fixed_point() -> None:
    def call(scale: float) -> relax.Call:
        return quantized_softmax(variable((1, 4)), scale, 0, 1 / 256, -128, "int8", beta=2.0)

    check(call(2.0**-27 * 1.0001))
    fails(r"beta \* input_scale must exceed 2\^-26", check, call(2.0**-27))
