from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tvm
from tvm import relax, te, tirx
from tvm.relax import op as R
from tvm.relax.backend.cpu_generic import pipeline as cpu
from tvm.script import ir as I
from tvm.script import tirx as T

import legalize
from legalize.passes.inline_elementwise import InlineElementwise
from qnn_ops import (
    float_function,
    quantize,
    quantized_add,
    quantized_concat,
    quantized_conv2d,
    quantized_dense,
    quantized_mean,
    quantized_pool2d,
    quantized_relu,
    quantized_softmax,
    requantize,
)
from qnn_ops.arithmetic.rounded import rounded
from tests.support.arrays import full_range
from tests.support.encodings import encodings
from tests.support.modules import emit, module
from tests.support.operators import run
from tvm_qnn import build

TARGET = tvm.target.Target("llvm")
SHAPE = (2, 5, 3, 4)
ADD = encodings(lhs=(0.31, 5), rhs=(0.17, -7), output=(0.43, 11), out_dtype="int8")
CONV = encodings(input=(0.5, 3), kernel=(0.25, 1), output=(4.0, -3), out_dtype="int8")


def fused(mod: tvm.IRModule) -> tvm.IRModule:
    """Return the module as it comes to the pass: primitives, fused."""
    with TARGET:
        return tvm.transform.Sequential(cpu.legalize_passes(TARGET))(legalize.LegalizeQnn()(mod))


def blocks(mod: tvm.IRModule) -> list[str]:
    """Return the names of the blocks in the module's TIR functions."""
    lines = (line.strip() for line in mod.script().splitlines())
    names = [line.split('"')[1] for line in lines if line.startswith("with T.sblock(")]
    return [name for name in names if name != "root"]


def test_gelu_is_one_loop() -> None:
    def gelu(data: relax.Expr, bias: relax.Expr) -> relax.Expr:
        scaled = emit(R.multiply(emit(R.astype(data, "float32")), relax.const(np.float32(0.01))))
        total = emit(R.add(emit(rounded(scaled)), bias))
        erf = emit(float_function(emit(R.divide(total, relax.const(np.float32(2**0.5)))), "erf"))
        factor = emit(R.add(erf, relax.const(np.float32(1))))
        return R.multiply(emit(R.multiply(total, factor)), relax.const(np.float32(0.5)))

    inputs = {
        "data": relax.TensorType((6, 40), "int32"),
        "bias": relax.TensorType((40,), "float32"),
    }
    mod = legalize.LegalizeQnn()(relax.transform.Normalize()(module(inputs, gelu)))
    with TARGET:
        mod = legalize.calls_pipeline(TARGET)(mod)
    assert len(blocks(mod)) == 1


def tensors(*shapes: tuple[int, ...], dtype: str = "int8") -> dict[str, relax.Type]:
    return {f"x{i}": relax.TensorType(shape, dtype) for i, shape in enumerate(shapes)}


def requantized(data: relax.Expr, rounding: str = "tflite") -> relax.Call:
    return requantize(data, 0.3, 4, 0.7, -9, "int8", rounding=rounding)


def rectified(data: relax.Expr) -> relax.Call:
    return quantized_relu(data, 0.3, 4, 0.7, -9, "int8")


@pytest.mark.parametrize(
    "body",
    [
        requantized,
        rectified,
        lambda x: requantized(x, "float64"),
        lambda x: quantized_add(x, x, **ADD),
    ],
)
def test_an_operators_chain_becomes_one_block(body: Callable[..., relax.Call]) -> None:
    before = fused(module(tensors(SHAPE), body))
    assert len(blocks(before)) > 8
    after = InlineElementwise()(before)
    assert len(blocks(after)) == 1
    assert "sblock_alloc_buffer" not in after.script()


def test_each_operator_of_a_chain_has_its_loop() -> None:
    def body(x: relax.Expr) -> relax.Expr:
        for _ in range(5):
            x = quantized_add(x, x, **ADD)
        return x

    before = fused(module(tensors(SHAPE), body))
    after = InlineElementwise()(before)
    assert len(after.functions) == 2
    assert len(blocks(after)) == 5
    buffers = [line for line in after.script().splitlines() if "sblock_alloc_buffer" in line]
    assert len(buffers) == 4
    assert all(line.endswith('"int8")') for line in buffers)


@pytest.mark.parametrize("is_read_twice", [False, True])
def test_what_has_variables_is_inlined_where_it_is_read_once(is_read_twice: bool) -> None:
    def squared(value: Any) -> Any:
        variable = tirx.Var("v", "float32")
        return tirx.Let(variable, value + value, variable * variable)

    x = te.placeholder((8,), "float32", "x")
    square = te.compute((8,), lambda i: squared(x[i]), "square")
    ends = te.compute((8,), lambda i: square[i] * (square[i] if is_read_twice else x[i]), "ends")
    mod = tvm.IRModule({"main": te.create_prim_func([x, ends])})
    after = InlineElementwise()(mod)
    assert blocks(after) == (["square", "ends"] if is_read_twice else ["ends"])


def test_expressions_do_not_grow_without_bound() -> None:
    def body(x: relax.Expr) -> relax.Expr:
        for _ in range(12):
            x = R.multiply(x, R.add(x, x))
        return x

    after = InlineElementwise()(fused(module(tensors(SHAPE, dtype="float32"), body)))
    assert len(after.script()) < 100_000


@pytest.mark.parametrize(("shifts", "loops"), [(7, 1), (8, 2), (21, 3)])
def test_few_shifts_lie_one_inside_the_other(shifts: int, loops: int) -> None:
    def body(x: relax.Expr) -> relax.Expr:
        for _ in range(shifts):
            x = R.right_shift(R.add(x, relax.const(5, "int64")), relax.const(3, "int64"))
        return x

    mod = fused(module(tensors(SHAPE, dtype="int64"), body))
    assert len(blocks(InlineElementwise()(mod))) == loops


def test_what_a_convolution_reads_stays() -> None:
    def body(x: relax.Expr, w: relax.Expr) -> relax.Call:
        return quantized_conv2d(x, w, **CONV, padding=1, data_layout="NHWC", kernel_layout="OHWI")

    after = blocks(InlineElementwise()(fused(module(tensors((1, 6, 6, 3), (2, 3, 3, 3)), body))))
    # All that follows the sum is one; the kernel and the data are centred once, not in the sum.
    assert after == ["T_subtract", "T_subtract", "pad_temp", "conv2d_nhwc", "compute1"]


def test_padding_computes_what_it_moves() -> None:
    mod = module(tensors(SHAPE), lambda x: R.nn.pad(R.astype(x, "int32"), [0, 0, 1, 1, 0, 2, 0, 0]))
    assert len(blocks(InlineElementwise()(fused(mod)))) == 1


@pytest.mark.parametrize("first", [R.flip, R.reshape])
def test_a_reshape_is_not_inlined_where_it_is_read_backwards(first: Any) -> None:
    def body(x: relax.Expr) -> relax.Expr:
        if first is R.flip:
            return R.reshape(R.flip(x, 3), [1, 120])
        return R.flip(R.reshape(x, [1, 120]), 1)

    mod = module(tensors(SHAPE), body)
    assert len(blocks(InlineElementwise()(fused(mod)))) == 2


def test_a_reshape_read_backwards_is_right() -> None:
    mod = module(tensors((1, 3, 9, 7)), lambda x: R.flip(R.reshape(x, [1, 189]), 1))
    x = full_range(np.random.default_rng(0), "int8", (1, 3, 9, 7))
    result = build(mod).run(x)
    np.testing.assert_array_equal(result, x.reshape(1, 189)[:, ::-1])


def test_what_windows_read_stays() -> None:
    def body(x: relax.Expr) -> relax.Call:
        return quantized_pool2d(x, "avg", 2, padding=1, layout="NHWC")

    after = blocks(InlineElementwise()(fused(module(tensors((1, 6, 6, 3)), body))))
    assert after[0] == "pad_temp"


@pytest.mark.parametrize("axes", [[1, 2], [3], [0, 1, 2, 3]])
def test_a_sum_reads_its_data_directly(axes: list[int]) -> None:
    mod = module(tensors(SHAPE), lambda x: quantized_mean(x, axes, True, 0.3, 4, 0.7, -9, "int8"))
    after = InlineElementwise()(fused(mod))
    assert len(blocks(after)) == 2
    assert "sblock_alloc_buffer" not in after.script()


def test_what_is_broadcast_stays() -> None:
    mod = module(tensors(SHAPE, (1, 1, 1, 4)), lambda x, y: quantized_add(x, y, **ADD))
    function = one_function(InlineElementwise()(fused(mod)))
    # Rescaled for four channels, not for every pixel of them.
    assert len(blocks(tvm.IRModule({"main": function}))) == 2
    assert "T.sblock_alloc_buffer((T.int64(1), T.int64(1), T.int64(1), T.int64(4))" in str(function)


def test_axes_of_one_element_do_not_make_a_broadcast() -> None:
    mod = module(tensors((1, 4), (4,)), lambda x, y: quantized_add(x, y, **ADD))
    assert len(blocks(InlineElementwise()(fused(mod)))) == 1


def one_function(mod: tvm.IRModule) -> Any:
    (function,) = (f for f in mod.functions.values() if isinstance(f, tvm.tirx.PrimFunc))
    return function


def test_a_kernel_is_left_alone() -> None:
    @T.prim_func(private=True, s_tir=True)
    def kernel(x: T.Buffer((8,), "int32"), y: T.Buffer((8,), "int32")) -> None:
        step = T.sblock_alloc_buffer((8,), "int32")
        for i in range(8):
            with T.sblock("twice"):
                v = T.axis.spatial(8, i)
                step[v] = x[v] * 2
        for i in range(8):
            with T.sblock("next"):
                v = T.axis.spatial(8, i)
                y[v] = step[v] + 1

    written = tvm.IRModule({"main": kernel.with_attr("qnn.is_kernel", True)})
    tvm.ir.assert_structural_equal(InlineElementwise()(written), written)
    assert blocks(InlineElementwise()(tvm.IRModule({"main": kernel}))) == ["next"]


def test_a_scan_is_left_alone() -> None:
    mod = fused(module(tensors((6,), dtype="int32"), lambda x: R.cumsum(R.add(x, x), axis=0)))
    after = InlineElementwise()(mod)
    data = np.arange(6, dtype=np.int32)
    np.testing.assert_array_equal(run(after, [data]), np.cumsum(2 * data))


def test_functions_without_blocks_are_left_alone() -> None:
    @I.ir_module
    class Plain:
        @T.prim_func(s_tir=False)
        def main(x: T.Buffer((8,), "int32")) -> None:
            T.func_attr({"global_symbol": "main"})
            for i in range(8):
                x[i] = x[i] + 1

    tvm.ir.assert_structural_equal(InlineElementwise()(Plain), Plain)


def concatenated(x: relax.Expr, y: relax.Expr) -> relax.Call:
    return quantized_concat([x, y], [0.7, 0.7], [-9, -9], 0.7, -9, "int8", axis=1)


CHAINS: dict[str, tuple[list[tuple[int, ...]], Callable[..., relax.Expr]]] = {
    "requantize": ([SHAPE], lambda x: requantized(requantized(x), "float32")),
    "add": ([SHAPE, (3, 1)], lambda x, y: quantized_add(x, quantized_add(y, x, **ADD), **ADD)),
    "dense": ([(2, 3, 8), (5, 8)], lambda x, w: rectified(quantized_dense(x, w, **CONV))),
    "mean": ([SHAPE], lambda x: quantized_mean(x, [1, 2], True, 0.3, 4, 0.7, -9, "int8")),
    "softmax": ([SHAPE], lambda x: quantized_softmax(x, 0.3, 4, 1 / 256, -128, "int8")),
    "concat": ([SHAPE, SHAPE], lambda x, y: concatenated(requantized(x), y)),
    "quantize": ([SHAPE], lambda x: quantize(R.sigmoid(R.astype(x, "float32")), 1 / 99, 4, "int8")),
}


@pytest.mark.parametrize("chain", CHAINS)
def test_results_stay_the_same(chain: str) -> None:
    shapes, body = CHAINS[chain]
    before = fused(module(tensors(*shapes), body))
    after = InlineElementwise()(before)
    assert len(blocks(after)) < len(blocks(before))
    rng = np.random.default_rng(1)
    arrays = [full_range(rng, "int8", shape) for shape in shapes]
    np.testing.assert_array_equal(run(after, arrays), run(before, arrays))
