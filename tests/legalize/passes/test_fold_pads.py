from __future__ import annotations

import tvm
from tvm.script import ir as I
from tvm.script import relax as R

from legalize.passes import FoldPads
from tests.support.encodings import encodings

CONV = encodings(
    input=(0.5, 3),
    kernel=(0.25, 0),
    output=(0.5, 0),
    out_dtype="int8",
    data_layout="NHWC",
    kernel_layout="OHWI",
)


def test_rows_and_columns_of_zero_point_become_padding() -> None:
    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor((1, 4, 4, 2), "int8"), w: R.Tensor((3, 3, 3, 2), "int8")) -> R.Tensor(
            (1, 5, 6, 3), "int8"
        ):
            with R.dataflow():
                padded = R.qnn.quantized_pad(x, pad_width=[0, 0, 0, 1, 1, 2, 0, 0], pad_value=3)
                y = R.qnn.quantized_conv2d(padded, w, padding=[1, 0, 1, 1], **CONV)
                R.output(y)
            return y

    @I.ir_module
    class Expected:
        @R.function
        def main(x: R.Tensor((1, 4, 4, 2), "int8"), w: R.Tensor((3, 3, 3, 2), "int8")) -> R.Tensor(
            (1, 5, 6, 3), "int8"
        ):
            with R.dataflow():
                y = R.qnn.quantized_conv2d(x, w, padding=[1, 1, 2, 3], **CONV)
                R.output(y)
            return y

    tvm.ir.assert_structural_equal(FoldPads()(Before), Expected)


def test_pad_with_other_readers_stays_for_them() -> None:
    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor((1, 4, 4, 2), "int8"), w: R.Tensor((3, 3, 3, 2), "int8")) -> R.Tuple(
            R.Tensor((1, 6, 6, 2), "int8"), R.Tensor((1, 4, 4, 3), "int8")
        ):
            with R.dataflow():
                padded = R.qnn.quantized_pad(x, pad_width=[0, 0, 1, 1, 1, 1, 0, 0], pad_value=3)
                y = R.qnn.quantized_conv2d(padded, w, **CONV)
                R.output(padded, y)
            return (padded, y)

    @I.ir_module
    class Expected:
        @R.function
        def main(x: R.Tensor((1, 4, 4, 2), "int8"), w: R.Tensor((3, 3, 3, 2), "int8")) -> R.Tuple(
            R.Tensor((1, 6, 6, 2), "int8"), R.Tensor((1, 4, 4, 3), "int8")
        ):
            with R.dataflow():
                padded = R.qnn.quantized_pad(x, pad_width=[0, 0, 1, 1, 1, 1, 0, 0], pad_value=3)
                y = R.qnn.quantized_conv2d(x, w, padding=[1, 1, 1, 1], **CONV)
                R.output(padded, y)
            return (padded, y)

    tvm.ir.assert_structural_equal(FoldPads()(Before), Expected)


def test_other_values_and_other_axes_are_left_alone() -> None:
    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor((1, 4, 4, 1), "int8"), w: R.Tensor((3, 3, 3, 2), "int8")) -> R.Tensor(
            (1, 4, 2, 3), "int8"
        ):
            with R.dataflow():
                other_value = R.qnn.quantized_pad(
                    x, pad_width=[0, 0, 1, 1, 0, 0, 0, 0], pad_value=0
                )
                other_axis = R.qnn.quantized_pad(
                    other_value, pad_width=[0, 0, 0, 0, 0, 0, 0, 1], pad_value=3
                )
                y = R.qnn.quantized_conv2d(other_axis, w, **CONV)
                R.output(y)
            return y

    tvm.ir.assert_structural_equal(FoldPads()(Before), Before)
