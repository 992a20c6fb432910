from collections.abc import Sequence
from functools import partial

from tvm import relax
from tvm.ir import assert_structural_equal

from legalize.passes.fold_pads import FoldPads
from qnn_ops import quantized_conv2d, quantized_pad
from tests.support.encodings import encodings
from tests.support.modules import emit, module

INPUTS = {"x": relax.TensorType((1, 4, 4, 2), "int8"), "w": relax.TensorType((3, 3, 3, 2), "int8")}
CONV = encodings(
    input=(0.5, 3),
    kernel=(0.25, 0),
    output=(0.5, 0),
    out_dtype="int8",
    data_layout="NHWC",
    kernel_layout="OHWI",
)


def convolved(x: relax.Expr, w: relax.Expr, padding: Sequence[int] = (0, 0, 0, 0)) -> relax.Call:
    return quantized_conv2d(x, w, padding=padding, **CONV)


def test_rows_and_columns_of_zero_point_become_padding() -> None:
    def body(x: relax.Expr, w: relax.Expr) -> relax.Call:
        return convolved(quantized_pad(x, [0, 0, 0, 1, 1, 2, 0, 0], 3), w, [1, 0, 1, 1])

    expected = module(INPUTS, lambda x, w: convolved(x, w, [1, 1, 2, 3]))
    assert_structural_equal(FoldPads()(module(INPUTS, body)), expected)


def test_pad_with_other_readers_stays_for_them() -> None:
    def body(is_folded: bool, x: relax.Expr, w: relax.Expr) -> list[relax.Expr]:
        padded = quantized_pad(x, [0, 0, 1, 1, 1, 1, 0, 0], 3)
        padded = emit(padded)
        return [padded, convolved(x, w, [1, 1, 1, 1]) if is_folded else convolved(padded, w)]

    before, expected = (module(INPUTS, partial(body, each)) for each in (False, True))
    assert_structural_equal(FoldPads()(before), expected)


def test_other_values_and_other_axes_are_left_alone() -> None:
    def body(x: relax.Expr, w: relax.Expr) -> relax.Call:
        other_value = quantized_pad(x, [0, 0, 1, 1, 0, 0, 0, 0], 0)
        return convolved(quantized_pad(other_value, [0, 0, 0, 0, 0, 0, 0, 1], 3), w)

    before = module({**INPUTS, "x": relax.TensorType((1, 4, 4, 1), "int8")}, body)
    assert_structural_equal(FoldPads()(before), before)
