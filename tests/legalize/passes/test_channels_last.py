from functools import partial
from typing import Any

import numpy as np
import tvm
from tvm import relax
from tvm.relax import op
from tvm.script import ir as I
from tvm.script import relax as R

from legalize import LegalizeQnn
from legalize.passes.channels_last import ChannelsLast
from qnn_ops import (
    dequantize,
    quantize,
    quantized_add,
    quantized_concat,
    quantized_conv2d,
    quantized_pad,
    quantized_pool2d,
)
from tests.support.arrays import full_range
from tests.support.encodings import encodings
from tests.support.modules import emit, module
from tests.support.operators import run

CONV = encodings(input=(0.5, 3), kernel=(0.25, 0), output=(0.5, 3), out_dtype="int8")
FIRST: dict[str, Any] = {**CONV, "data_layout": "NCHW", "kernel_layout": "OIHW"}
LAST: dict[str, Any] = {**CONV, "data_layout": "NHWC", "kernel_layout": "OIHW"}
SUM = encodings(lhs=(0.5, 3), rhs=(0.5, 3), output=(1.0, 0), out_dtype="int8")


def canonical(mod: tvm.IRModule) -> tvm.IRModule:
    """Return the module without second names of values."""
    return relax.transform.CanonicalizeBindings()(mod)


IMAGE = {"x": relax.TensorType((1, 2, 4, 4), "int8"), "w": relax.TensorType((2, 2, 1, 1), "int8")}
TO_LAST, TO_FIRST = [0, 2, 3, 1], [0, 3, 1, 2]


def test_a_network_is_transposed_at_its_edges_only() -> None:
    inputs = {
        "x": relax.TensorType((1, 2, 4, 6), "int8"),
        "w": relax.TensorType((2, 2, 3, 3), "int8"),
    }

    def network(is_last: bool, x: relax.Expr, w: relax.Expr) -> relax.Call:
        conv, axis, layout = (LAST, 3, "NHWC") if is_last else (FIRST, 1, "NCHW")
        y = emit(op.permute_dims(x, TO_LAST)) if is_last else x
        y = emit(quantized_conv2d(y, w, padding=[0, 1, 0, 1], **conv))
        y = emit(quantized_conv2d(y, w, padding=[1, 1, 1, 1], **conv))
        widths = [0, 0, 1, 0, 0, 0, 0, 0] if is_last else [0, 0, 0, 0, 1, 0, 0, 0]
        y = emit(quantized_pad(y, widths, 3))
        y = emit(quantized_pool2d(y, "max", [1, 2], [1, 3], layout=layout))
        joined = 3 if is_last else -3
        y = emit(quantized_concat((y, y), [0.5, 0.5], [3, 3], 0.5, 3, "int8", joined))
        y = emit(dequantize(y, [0.5, 1.0, 1.5, 2.0], 0, axis=axis))
        return op.permute_dims(y, TO_FIRST) if is_last else y

    before, expected = (module(inputs, partial(network, each)) for each in (False, True))
    tvm.ir.assert_structural_equal(canonical(ChannelsLast()(before)), canonical(expected))


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
    inputs = {**IMAGE, "x": relax.TensorType((1, 4, 4, 2), "int8")}

    def body(x: relax.Expr, w: relax.Expr) -> relax.Call:
        y = quantized_conv2d(op.permute_dims(x, TO_FIRST), w, **FIRST)
        total = quantized_add(x, op.permute_dims(y, TO_LAST), **SUM)
        z = quantized_conv2d(op.permute_dims(total, TO_FIRST), w, **FIRST)
        return op.permute_dims(z, [0, 2, 1, 3])

    def last(x: relax.Expr, w: relax.Expr) -> relax.Call:
        total = quantized_add(x, quantized_conv2d(x, w, **LAST), **SUM)
        return op.permute_dims(quantized_conv2d(total, w, **LAST), [0, 1, 3, 2])

    after, expected = ChannelsLast()(module(inputs, body)), module(inputs, last)
    tvm.ir.assert_structural_equal(canonical(after), canonical(expected))


def test_what_means_move_to_the_end_is_no_transpose() -> None:
    def body(is_last: bool, x: relax.Expr) -> relax.Call:
        data = quantize(x, 0.5, 0, "int8")
        if is_last:
            y = op.permute_dims(data, TO_LAST)
            y = quantized_pool2d(y, "avg", [4, 4], layout="NHWC")
            y = op.reshape(y, (1, 2, 1, 1))
        else:
            y = quantized_pool2d(data, "avg", [4, 4])
        return dequantize(op.reshape(y, (1, 2)), 0.5, 0)

    inputs = {"x": relax.TensorType((1, 2, 4, 4), "float32")}
    before, expected = (module(inputs, partial(body, each)) for each in (False, True))
    tvm.ir.assert_structural_equal(ChannelsLast()(before), expected)


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
    inputs = {
        **IMAGE,
        "x": relax.TensorType((1, 4, 4, 2), "int8"),
        "f": relax.TensorType((1, 2, 4, 4), "float32"),
        "g": relax.TensorType((2, 2, 1, 1), "float32"),
    }

    def body(x: relax.Expr, w: relax.Expr, f: relax.Expr, g: relax.Expr) -> list[relax.Expr]:
        turned = op.permute_dims(quantized_conv2d(x, w, **LAST), TO_FIRST)
        turned = emit(turned)
        # The second one has a kernel that is no constant.
        return [quantized_add(turned, turned, **SUM), op.nn.conv2d(f, g)]

    before = module(inputs, body)
    tvm.ir.assert_structural_equal(ChannelsLast()(before), before)


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
