from __future__ import annotations

from typing import Any

import numpy as np
import tvm
from tvm import relax
from tvm.relax import op
from tvm.script import ir as I
from tvm.script import relax as R

from legalize import LegalizeQnn
from legalize.passes import ChannelsLast
from qnn_ops import quantized_conv2d
from tests.support.arrays import full_range
from tests.support.encodings import encodings
from tests.support.modules import module
from tests.support.operators import run

CONV = encodings(input=(0.5, 3), kernel=(0.25, 0), output=(0.5, 3), out_dtype="int8")
FIRST: dict[str, Any] = {**CONV, "data_layout": "NCHW", "kernel_layout": "OIHW"}
LAST: dict[str, Any] = {**CONV, "data_layout": "NHWC", "kernel_layout": "OIHW"}
SUM = encodings(lhs=(0.5, 3), rhs=(0.5, 3), output=(1.0, 0), out_dtype="int8")


def test_a_network_is_transposed_at_its_edges_only() -> None:
    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor((1, 2, 4, 6), "int8"), w: R.Tensor((2, 2, 3, 3), "int8")) -> R.Tensor(
            (1, 4, 3, 2), "float32"
        ):
            with R.dataflow():
                y = R.qnn.quantized_conv2d(x, w, padding=[0, 1, 0, 1], **FIRST)
                y = R.qnn.quantized_conv2d(y, w, padding=[1, 1, 1, 1], **FIRST)
                y = R.qnn.quantized_pad(y, pad_width=[0, 0, 0, 0, 1, 0, 0, 0], pad_value=3)
                y = R.qnn.quantized_pool2d(y, pool_type="max", pool_size=[1, 2], strides=[1, 3])
                y = R.qnn.quantized_concat(
                    (y, y),
                    input_scales=[0.5, 0.5],
                    input_zero_points=[3, 3],
                    output_scale=0.5,
                    output_zero_point=3,
                    out_dtype="int8",
                    axis=-3,
                )
                z = R.qnn.dequantize(y, scale=[0.5, 1.0, 1.5, 2.0], zero_point=0, axis=1)
                R.output(z)
            return z

    @I.ir_module
    class Expected:
        @R.function
        def main(x: R.Tensor((1, 2, 4, 6), "int8"), w: R.Tensor((2, 2, 3, 3), "int8")) -> R.Tensor(
            (1, 4, 3, 2), "float32"
        ):
            with R.dataflow():
                y = R.permute_dims(x, axes=[0, 2, 3, 1])
                y = R.qnn.quantized_conv2d(y, w, padding=[0, 1, 0, 1], **LAST)
                y = R.qnn.quantized_conv2d(y, w, padding=[1, 1, 1, 1], **LAST)
                y = R.qnn.quantized_pad(y, pad_width=[0, 0, 1, 0, 0, 0, 0, 0], pad_value=3)
                y = R.qnn.quantized_pool2d(
                    y, pool_type="max", pool_size=[1, 2], strides=[1, 3], layout="NHWC"
                )
                y = R.qnn.quantized_concat(
                    (y, y),
                    input_scales=[0.5, 0.5],
                    input_zero_points=[3, 3],
                    output_scale=0.5,
                    output_zero_point=3,
                    out_dtype="int8",
                    axis=3,
                )
                y = R.qnn.dequantize(y, scale=[0.5, 1.0, 1.5, 2.0], zero_point=0, axis=3)
                z = R.permute_dims(y, axes=[0, 3, 1, 2])
                R.output(z)
            return z

    tvm.ir.assert_structural_equal(ChannelsLast()(Before), Expected)


def test_constant_kernels_are_transposed_at_compile_time() -> None:
    kernel = np.arange(24, dtype=np.int8).reshape(4, 3, 2, 1)
    ty = relax.TensorType((1, 3, 5, 5), "int8")
    after = ChannelsLast()(
        module({"x": ty}, lambda x: quantized_conv2d(x, relax.const(kernel), **FIRST))
    )
    expected = module(
        {"x": ty},
        lambda x: op.permute_dims(
            quantized_conv2d(
                op.permute_dims(x, [0, 2, 3, 1]),
                relax.const(np.ascontiguousarray(kernel.transpose(0, 2, 3, 1))),
                **{**LAST, "kernel_layout": "OHWI"},
            ),
            [0, 3, 1, 2],
        ),
    )
    tvm.ir.assert_structural_equal(after, relax.transform.DeadCodeElimination()(expected))


def test_transposes_of_the_model_itself_go() -> None:
    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor((1, 4, 4, 2), "int8"), w: R.Tensor((2, 2, 1, 1), "int8")) -> R.Tensor(
            (1, 4, 2, 4), "int8"
        ):
            with R.dataflow():
                first = R.permute_dims(x, axes=[0, 3, 1, 2])
                y = R.qnn.quantized_conv2d(first, w, **FIRST)
                last = R.permute_dims(y, axes=[0, 2, 3, 1])
                total = R.qnn.quantized_add(x, last, **SUM)
                first_again = R.permute_dims(total, axes=[0, 3, 1, 2])
                z = R.qnn.quantized_conv2d(first_again, w, **FIRST)
                turned = R.permute_dims(z, axes=[0, 2, 1, 3])
                R.output(turned)
            return turned

    @I.ir_module
    class Expected:
        @R.function
        def main(x: R.Tensor((1, 4, 4, 2), "int8"), w: R.Tensor((2, 2, 1, 1), "int8")) -> R.Tensor(
            (1, 4, 2, 4), "int8"
        ):
            with R.dataflow():
                y = R.qnn.quantized_conv2d(x, w, **LAST)
                total = R.qnn.quantized_add(x, y, **SUM)
                z = R.qnn.quantized_conv2d(total, w, **LAST)
                turned = R.permute_dims(z, axes=[0, 1, 3, 2])
                R.output(turned)
            return turned

    after = relax.transform.CanonicalizeBindings()(ChannelsLast()(Before))
    tvm.ir.assert_structural_equal(after, relax.transform.CanonicalizeBindings()(Expected))


def test_what_means_move_to_the_end_is_no_transpose() -> None:
    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor((1, 2, 4, 4), "float32")) -> R.Tensor((1, 2), "float32"):
            with R.dataflow():
                q = R.qnn.quantize(x, scale=0.5, zero_point=0, out_dtype="int8")
                y = R.qnn.quantized_pool2d(q, pool_type="avg", pool_size=[4, 4])
                flat = R.reshape(y, (1, 2))
                z = R.qnn.dequantize(flat, scale=0.5, zero_point=0)
                R.output(z)
            return z

    @I.ir_module
    class Expected:
        @R.function
        def main(x: R.Tensor((1, 2, 4, 4), "float32")) -> R.Tensor((1, 2), "float32"):
            with R.dataflow():
                q = R.qnn.quantize(x, scale=0.5, zero_point=0, out_dtype="int8")
                q = R.permute_dims(q, axes=[0, 2, 3, 1])
                y = R.qnn.quantized_pool2d(q, pool_type="avg", pool_size=[4, 4], layout="NHWC")
                y = R.reshape(y, (1, 2, 1, 1))
                flat = R.reshape(y, (1, 2))
                z = R.qnn.dequantize(flat, scale=0.5, zero_point=0)
                R.output(z)
            return z

    tvm.ir.assert_structural_equal(ChannelsLast()(Before), Expected)


def test_float_convolutions_of_constants_move_too() -> None:
    kernel = np.arange(6, dtype=np.float32).reshape(3, 2, 1, 1)
    ty = relax.TensorType((1, 2, 4, 4), "float32")

    def body(x: relax.Expr) -> relax.Expr:
        return op.nn.max_pool2d(op.nn.relu(op.nn.conv2d(x, relax.const(kernel))), [2, 2])

    after = ChannelsLast()(module({"x": ty}, body))
    expected = module(
        {"x": ty},
        lambda x: op.permute_dims(
            op.nn.max_pool2d(
                op.nn.relu(
                    op.nn.conv2d(
                        op.permute_dims(x, [0, 2, 3, 1]),
                        relax.const(np.ascontiguousarray(kernel.transpose(2, 3, 1, 0))),
                        data_layout="NHWC",
                        kernel_layout="HWIO",
                    )
                ),
                [2, 2],
                layout="NHWC",
            ),
            [0, 3, 1, 2],
        ),
    )
    tvm.ir.assert_structural_equal(after, relax.transform.DeadCodeElimination()(expected))


def test_graphs_without_images_to_move_are_left_alone() -> None:
    @I.ir_module
    class Before:
        @R.function
        def main(
            x: R.Tensor((1, 4, 4, 2), "int8"),
            w: R.Tensor((2, 2, 1, 1), "int8"),
            f: R.Tensor((1, 2, 4, 4), "float32"),
            g: R.Tensor((2, 2, 1, 1), "float32"),
        ) -> R.Tuple(R.Tensor((1, 2, 4, 4), "int8"), R.Tensor((1, 2, 4, 4), "float32")):
            with R.dataflow():
                y = R.qnn.quantized_conv2d(x, w, **LAST)
                turned = R.permute_dims(y, axes=[0, 3, 1, 2])
                z = R.qnn.quantized_add(turned, turned, **SUM)
                # With a kernel that is no constant.
                h = R.nn.conv2d(f, g)
                R.output(z, h)
            return (z, h)

    tvm.ir.assert_structural_equal(ChannelsLast()(Before), Before)


def test_blocks_do_not_share_what_they_transposed() -> None:
    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor((1, 2, 4, 4), "int8"), w: R.Tensor((2, 2, 1, 1), "int8")) -> R.Tensor(
            (1, 2, 4, 4), "int8"
        ):
            with R.dataflow():
                y = R.qnn.quantized_conv2d(x, w, **FIRST)
                R.output(y)
            return R.qnn.quantized_conv2d(y, w, **FIRST)

    after = ChannelsLast()(Before)
    rng = np.random.default_rng(0)
    arrays = [full_range(rng, "int8", shape) for shape in ((1, 2, 4, 4), (2, 2, 1, 1))]
    results = [run(LegalizeQnn()(mod), arrays) for mod in (Before, after)]
    np.testing.assert_array_equal(results[1], results[0])
