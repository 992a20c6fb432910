from functools import partial
from typing import Any

import numpy as np
import pytest
import tvm
from tvm import relax, te, tirx
from tvm.relax import op as R
from tvm.script import ir as I
from tvm.script import relax as S
from tvm.script import tirx as T

from legalize import lower
from legalize.kernels.kernel import IS_KERNEL
from legalize.passes.fold_constants import FoldConstants, FoldRest
from qnn_ops import quantized_dense
from tests.support.encodings import encodings
from tests.support.modules import calls_of, emit, module

WEIGHTS = np.array([[-128, 127, 3], [0, -1, 64]], np.int8)


def test_a_chain_of_constants_becomes_one() -> None:
    def body(x: relax.Expr) -> relax.Call:
        centred = R.subtract(R.astype(relax.const(WEIGHTS), "int16"), relax.const(np.int16(5)))
        return R.matmul(x, R.permute_dims(centred))

    folded = FoldConstants()(module({"x": relax.TensorType((4, 3), "int16")}, body))
    binding, _ = folded["main"].body.blocks[0].bindings
    assert binding.value.op.name == "relax.matmul"
    expected = (WEIGHTS.astype(np.int16) - 5).T
    np.testing.assert_array_equal(binding.value.args[1].value.numpy(), expected)


def test_variables_of_constants_become_these() -> None:
    def body(x: relax.Expr) -> relax.Call:
        return R.matmul(x, relax.BlockBuilder.current().emit(relax.const(WEIGHTS)))

    folded = FoldConstants()(module({"x": relax.TensorType((4, 2), "int8")}, body))
    binding, _ = folded["main"].body.blocks[0].bindings
    np.testing.assert_array_equal(binding.value.args[1].value.numpy(), WEIGHTS)


@pytest.mark.parametrize(
    ("function", "operands"),
    [
        (R.add, [np.int8(127), np.array([1, -1], np.int8)]),
        (R.subtract, [np.array([-32768, 5], np.int16), np.int16(1)]),
        (R.multiply, [np.array([1 << 31, -3], np.int64), np.array([[1 << 33], [7]], np.int64)]),
        (R.left_shift, [np.array([-1, 1 << 30], np.int32), np.int32(3)]),
        (R.right_shift, [np.array([-5, 5, -(1 << 62)], np.int64), np.int64(1)]),
        (R.bitwise_and, [np.array([-1, 6], np.int64), np.int64(3)]),
        (R.maximum, [np.array([-1, 6], np.int64), np.int64(3)]),
        (R.minimum, [np.array([250, 6], np.uint8), np.uint8(100)]),
        (R.greater, [np.array([-1, 6], np.int64), np.int64(3)]),
        (R.less_equal, [np.array([250, 100], np.uint8), np.uint8(100)]),
        (R.where, [np.array([True, False]), np.int8(3), np.array([[1, 2]], np.int8)]),
        (R.logical_and, [np.array([[True], [False]]), np.array([True, False])]),
        (partial(R.strided_slice, axes=[-1], begin=[1], end=[9]), [np.ones((2, 3), np.float32)]),
        (
            partial(R.strided_slice, axes=[0, 1], begin=[-2, 5], end=[3, -6], strides=[2, -2]),
            [np.arange(30).reshape(5, 6)],
        ),
        (R.sum, [np.array([[1 << 31, 5], [1 << 31, -7]], np.int64)]),
        (partial(R.sum, axis=[-1, 0]), [np.full((2, 3, 2), 100, np.int8)]),
        (partial(R.sum, axis=1, keepdims=True), [np.full((2, 3), 1 << 30, np.int32)]),
        (partial(R.zeros, (2, 3), "int8"), []),
        (partial(R.zeros, (1024,), "float32"), []),
    ],
)
def test_integers_are_those_of_compiled_code(function: Any, operands: list[Any]) -> None:
    mod = _module(function(*(relax.const(np.asarray(operand)) for operand in operands)))
    np.testing.assert_array_equal(*folded_and_run(mod, FoldConstants()))


FLOATS = np.array([0.1, -0.0, 0, 3e38, -1e-45, np.inf, -np.inf, np.nan, 1e-20], np.float32)
PAIRS = FLOATS.repeat(len(FLOATS)), np.tile(FLOATS, len(FLOATS))


@pytest.mark.parametrize(
    "function",
    [
        *(R.add, R.divide, R.maximum, R.minimum, R.multiply, R.subtract),
        *(R.equal, R.greater, R.greater_equal, R.less, R.less_equal),
        *(partial(lambda one, x, _: one(x), one) for one in (R.abs, R.negative)),
        lambda x, y: R.where(relax.const(PAIRS[0] > 0), x, y),
    ],
)
def test_floats_are_those_of_compiled_code(function: Any) -> None:
    mod = _module(function(*map(relax.const, PAIRS)))
    tvm.ir.assert_structural_equal(FoldConstants()(mod), mod)
    found, expected = folded_and_run(mod, FoldConstants(floats=True))
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(np.signbit(found), np.signbit(expected))


@pytest.mark.parametrize(
    "call", [R.exp(relax.const(FLOATS)), R.divide(*[relax.const(np.array([2**62 + 1]))] * 2)]
)
def test_functions_that_numpy_rounds_in_another_way_are_left(call: Any) -> None:
    mod = _module(call)
    tvm.ir.assert_structural_equal(FoldConstants(floats=True)(mod), mod)


def folded_and_run(mod: tvm.IRModule, fold: tvm.transform.Pass) -> tuple[Any, Any]:
    """Return the constant that a pass makes of a module's result, and the result of a run."""
    (binding,) = fold(mod)["main"].body.blocks[0].bindings
    assert isinstance(binding.value, tvm.ir.GenericConst)
    machine = relax.VirtualMachine(tvm.compile(mod, "llvm"), tvm.cpu())
    found, expected = binding.value.value.numpy(), machine["main"]().numpy()
    assert found.dtype == expected.dtype
    return found, expected


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int64"])
def test_casts_wrap(dtype: str) -> None:
    values = np.array([-1, 128, 255, -129, 65536], np.int32)
    folded = FoldConstants()(_module(R.astype(relax.const(values), dtype)))
    (binding,) = folded["main"].body.blocks[0].bindings
    np.testing.assert_array_equal(binding.value.value.numpy(), values.astype(dtype))


@pytest.mark.parametrize("value", [np.int8(-3), np.float32(0.1)])
def test_a_tensor_of_one_value_is_a_constant(value: Any) -> None:
    folded = FoldConstants()(_module(R.full((2, 3), relax.const(value), str(value.dtype))))
    (binding,) = folded["main"].body.blocks[0].bindings
    found = binding.value.value.numpy()
    assert found.dtype == value.dtype
    np.testing.assert_array_equal(found, np.full((2, 3), value))


def test_many_zeros_are_left() -> None:
    mod = _module(R.zeros((1025,), "int8"))
    tvm.ir.assert_structural_equal(FoldConstants()(mod), mod)


def test_a_tensor_of_one_value_and_open_size_is_left() -> None:
    @I.ir_module
    class Before:
        @S.function
        def main(x: S.Tensor(("n",), "int8")) -> S.Tensor(("n",), "int8"):
            n = T.int64()
            with S.dataflow():
                result = S.full(S.shape([n]), S.const(3, "int8"), "int8")
                S.output(result)
            return result

    tvm.ir.assert_structural_equal(FoldConstants()(Before), Before)


def test_a_slice_whose_place_a_run_decides_is_left() -> None:
    size, table = tirx.Var("n", "int64"), relax.const(np.ones((16, 2), np.int8))

    def body(x: relax.Expr) -> relax.Expr:
        row = R.strided_slice(table, [0], [size - 1], [size], assume_inbound=True)
        return R.add(x, emit(row))

    mod = module({"x": relax.TensorType((size, 2), "int8")}, body)
    tvm.ir.assert_structural_equal(FoldConstants()(mod), mod)


def test_floats_and_variables_are_left() -> None:
    @I.ir_module
    class Before:
        @S.function
        def main(x: S.Tensor((2,), "int32")) -> S.Tuple(
            S.Tensor((2,), "float32"), S.Tensor((2,), "int32")
        ):
            with S.dataflow():
                real = S.add(S.const([0.5, 1.5], "float32"), S.const([0.25, 3.0], "float32"))
                whole = S.add(x, S.const([1, 2], "int32"))
                result = (real, whole)
                S.output(result)
            return result

    tvm.ir.assert_structural_equal(FoldConstants()(Before), Before)


def test_lowering_leaves_no_integer_arithmetic_on_constants() -> None:
    attrs = encodings(input=(0.5, 1), kernel=(0.25, 0), output=(1.0, 0), out_dtype="int8")
    inputs = {"x": relax.TensorType((4, 3), "int8")}
    mod = module(inputs, lambda x: quantized_dense(x, relax.const(WEIGHTS), **attrs))
    lowered = lower(mod, tvm.target.Target("llvm"), kernels=False)
    for binding in (each for block in lowered["main"].body.blocks for each in block.bindings):
        assert relax.analysis.free_vars(binding.value), binding


def _module(call: relax.Expr) -> tvm.IRModule:
    return module({}, lambda: call)


def test_the_rest_is_computed_but_kernels_stay_calls() -> None:
    """TVM would compile a kernel for any processor, which may end the process."""

    def times(x: te.Tensor) -> te.Tensor:
        return te.compute(x.shape, lambda i: x[i] * x[i])

    ones = relax.const(np.full(4, 3, np.int32))
    builder = relax.BlockBuilder()
    with builder.function("main", []):
        with builder.dataflow():
            calls = [
                builder.emit_te(times, ones, primfunc_name_hint=name, primfunc_attrs=attrs)
                for name, attrs in (("of_tvm", {}), ("kernel", {IS_KERNEL: True}))
            ]
            results = builder.emit_output(relax.Tuple(calls))
        builder.emit_func_output(results)
    before = builder.get()
    after = FoldRest(relax.transform.FoldConstant())(before)
    (call,) = calls_of(after)
    assert call.args[0].name_hint == "kernel"
    tvm.ir.assert_structural_equal(after["kernel"], before["kernel"])
    assert isinstance(after["kernel"], tirx.PrimFunc)
