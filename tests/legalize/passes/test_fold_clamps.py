from __future__ import annotations

import tvm
from tvm.script import ir as I
from tvm.script import relax as R

from legalize.passes import FoldClamps
from tests.support.encodings import encodings

ADD = encodings(lhs=(0.5, 0), rhs=(0.25, 1), output=(0.5, -10), out_dtype="int8")
KEEPING = encodings(input=(0.5, -10), output=(0.5, -10), out_dtype="int8")
# The same zero point means the same value in both dtypes.
POSITIVE = {**ADD, "output_zero_point": 10}
TO_UINT8 = {**KEEPING, "input_zero_point": 10, "output_zero_point": 10, "out_dtype": "uint8"}


def test_activation_that_keeps_the_quantization_becomes_the_producers_clamp() -> None:
    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor((4,), "int8"), y: R.Tensor((4,), "int8")) -> R.Tensor((4,), "int8"):
            with R.dataflow():
                total = R.qnn.quantized_add(x, y, **ADD)
                z = R.qnn.quantized_relu(total, kind="relu6", **KEEPING)
                R.output(z)
            return z

    @I.ir_module
    class Expected:
        @R.function
        def main(x: R.Tensor((4,), "int8"), y: R.Tensor((4,), "int8")) -> R.Tensor((4,), "int8"):
            with R.dataflow():
                z = R.qnn.quantized_add(x, y, out_min=-10, out_max=2, **ADD)
                R.output(z)
            return z

    tvm.ir.assert_structural_equal(FoldClamps()(Before), Expected)


def test_activation_clamps_what_is_clamped_already() -> None:
    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor((4,), "int8"), y: R.Tensor((4,), "int8")) -> R.Tensor((4,), "int8"):
            with R.dataflow():
                total = R.qnn.quantized_add(x, y, out_min=-100, out_max=-50, **ADD)
                z = R.qnn.quantized_relu(total, kind="relu", **KEEPING)
                R.output(z)
            return z

    @I.ir_module
    class Expected:
        @R.function
        def main(x: R.Tensor((4,), "int8"), y: R.Tensor((4,), "int8")) -> R.Tensor((4,), "int8"):
            with R.dataflow():
                z = R.qnn.quantized_add(x, y, out_min=-10, out_max=-10, **ADD)
                R.output(z)
            return z

    tvm.ir.assert_structural_equal(FoldClamps()(Before), Expected)


def test_rescaling_activation_and_shared_producer_are_left_alone() -> None:
    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor((4,), "int8"), y: R.Tensor((4,), "int8")) -> R.Tuple(
            R.Tensor((4,), "int8"), R.Tensor((4,), "int8"), R.Tensor((4,), "int8")
        ):
            with R.dataflow():
                total = R.qnn.quantized_add(x, y, **ADD)
                kept = R.qnn.quantized_relu(total, kind="relu", **KEEPING)
                other = R.qnn.quantized_add(x, x, **ADD)
                rescaled = R.qnn.quantized_relu(
                    other,
                    kind="relu",
                    **encodings(input=(0.5, -10), output=(0.25, -10), out_dtype="int8"),
                )
                R.output(total, kept, rescaled)
            return (total, kept, rescaled)

    tvm.ir.assert_structural_equal(FoldClamps()(Before), Before)


def test_activation_that_changes_the_dtype_is_left_alone() -> None:
    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor((4,), "int8"), y: R.Tensor((4,), "int8")) -> R.Tensor((4,), "uint8"):
            with R.dataflow():
                total = R.qnn.quantized_add(x, y, **POSITIVE)
                z = R.qnn.quantized_relu(total, kind="relu6", **TO_UINT8)
                R.output(z)
            return z

    tvm.ir.assert_structural_equal(FoldClamps()(Before), Before)


def test_activation_after_a_pool_that_states_no_bounds() -> None:
    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor((1, 2, 2, 1), "int8")) -> R.Tensor((1, 1, 1, 1), "int8"):
            with R.dataflow():
                pooled = R.qnn.quantized_pool2d(x, pool_type="max", pool_size=[2, 2], layout="NHWC")
                z = R.qnn.quantized_relu(pooled, kind="relu", **KEEPING)
                R.output(z)
            return z

    @I.ir_module
    class Expected:
        @R.function
        def main(x: R.Tensor((1, 2, 2, 1), "int8")) -> R.Tensor((1, 1, 1, 1), "int8"):
            with R.dataflow():
                z = R.qnn.quantized_pool2d(
                    x, pool_type="max", pool_size=[2, 2], layout="NHWC", out_min=-10, out_max=127
                )
                R.output(z)
            return z

    tvm.ir.assert_structural_equal(FoldClamps()(Before), Expected)
