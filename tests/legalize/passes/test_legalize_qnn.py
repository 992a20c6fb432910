from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import tvm
from tvm import relax
from tvm.relax import op
from tvm.script import ir as I
from tvm.script import relax as R

from legalize.passes.legalize_qnn import LegalizeQnn
from qnn_ops import quantized_lookup, quantized_pad, requantize
from qnn_ops.dialect.registry import OPERATORS, R_QNN, Attrs, Operator, TensorSpec, operator
from tests.support.arrays import full_range
from tests.support.encodings import encodings
from tests.support.errors import fails
from tests.support.modules import module
from tests.support.operators import module_of, run


def test_each_operator_becomes_its_primitives_and_the_rest_stays() -> None:
    inputs = {"x": relax.TensorType((2, 3), "int8"), "table": relax.TensorType((256,), "uint8")}

    def before(x: relax.Expr, table: relax.Expr) -> relax.Call:
        padded = quantized_pad(x, [0, 2, 0, 0], -7)
        return op.reshape(quantized_lookup(op.reshape(padded, (12,)), table), (4, 3))

    def expected(x: relax.Expr, table: relax.Expr) -> relax.Call:
        flat = op.reshape(op.nn.pad(x, [0, 2, 0, 0], pad_value=-7), (12,))
        index = op.subtract(op.astype(flat, "int32"), relax.const(-128, "int32"))
        return op.reshape(op.take(table, index, axis=0, mode="clip"), (4, 3))

    lowered = LegalizeQnn()(module(inputs, before))
    tvm.ir.assert_structural_equal(lowered, module(inputs, expected))


def test_requantize_becomes_one_64_bit_product_and_one_shift() -> None:
    inputs = {"x": relax.TensorType((4,), "uint8")}
    attrs = encodings(input=(0.5, 128), output=(1.0, 3), out_dtype="int8")

    def wide(value: int) -> relax.Expr:
        return relax.const(value, "int64")

    def expected(x: relax.Expr) -> relax.Call:
        centred = op.subtract(op.astype(x, "int32"), relax.const(128, "int32"))
        # A half is 2^30 / 2^31 without a shift.
        product = op.multiply(op.astype(centred, "int64"), wide(2**30))
        rounded = op.right_shift(op.add(product, wide(2**30)), wide(31))
        moved = op.add(op.astype(op.astype(rounded, "int32"), "int64"), wide(3))
        return op.astype(op.minimum(op.maximum(moved, wide(-128)), wide(127)), "int8")

    lowered = LegalizeQnn()(module(inputs, lambda x: requantize(x, rounding="upward", **attrs)))
    tvm.ir.assert_structural_equal(lowered, module(inputs, expected))


def test_a_module_without_our_operators_stays_as_it_is() -> None:
    plain = module({"x": relax.TensorType((2, 3), "float32")}, op.nn.relu)
    tvm.ir.assert_structural_equal(LegalizeQnn()(plain), plain)


def test_every_function_of_a_module_is_lowered() -> None:
    @I.ir_module
    class Before:
        @R.function(private=True)
        def inner(x: R.Tensor((3,), "int8")) -> R.Tensor((5,), "int8"):
            return R.qnn.quantized_pad(x, pad_width=[1, 1], pad_value=0)

        @R.function
        def main(x: R.Tensor((3,), "int8")) -> R.Tensor((7,), "int8"):
            cls = Before
            y: R.Tensor((5,), "int8") = cls.inner(x)
            return R.qnn.quantized_pad(y, pad_width=[1, 1], pad_value=9)

    lowered = LegalizeQnn()(Before)
    assert "qnn" not in lowered.script()
    result = run(lowered, [np.array([1, 2, 3], np.int8)])
    np.testing.assert_array_equal(result, [9, 0, 1, 2, 3, 0, 9])


def test_tvms_own_legalization_gives_the_same_results() -> None:
    rng = np.random.default_rng(1)
    data, weight = full_range(rng, "int8", (3, 20)), full_range(rng, "int8", (5, 20))
    attrs = encodings(input=(0.1, 3), kernel=(0.02, 0), output=(0.3, -4), out_dtype="int8")
    mod = module_of(OPERATORS["relax.qnn.quantized_dense"], [data, weight], **attrs)
    ours = run(LegalizeQnn()(mod), [data, weight])
    np.testing.assert_array_equal(run(relax.transform.LegalizeOps()(mod), [data, weight]), ours)


@pytest.fixture(scope="module")
def without_a_rule() -> Iterator[Operator[Any]]:
    @operator()
    def ruleless_for_test(data: relax.Expr) -> None:
        """Return an operator that nothing lowers."""

    @ruleless_for_test.type_rule
    def _type(_attrs: Attrs, data: TensorSpec) -> TensorSpec:
        return data

    yield ruleless_for_test
    del OPERATORS[ruleless_for_test.op.name]
    delattr(R_QNN, ruleless_for_test.name)


def test_an_operator_without_a_rule_is_named(without_a_rule: Operator[Any]) -> None:
    mod = module_of(without_a_rule, [np.zeros(3, np.int8)])
    fails("ruleless_for_test: no rule lowers this operator", LegalizeQnn(), mod)


@pytest.mark.parametrize("shape", [(3,), ()])
def test_division_by_0_is_one_of_floats(shape: tuple[int, ...]) -> None:
    parameters = {"x": relax.TensorType(shape, "float32")}
    mod = LegalizeQnn()(module(parameters, lambda x: relax.op.divide(x, relax.const(0.0))))
    data = np.resize(np.array([-1, 0, 2], np.float32), shape)
    with np.errstate(all="ignore"):
        expected = data / np.float32(0)
    np.testing.assert_array_equal(run(mod, [data]), expected)


def test_integers_divided_by_0_are_refused() -> None:
    parameters = {"x": relax.TensorType((3,), "int32")}
    mod = module(parameters, lambda x: relax.op.floor_divide(x, relax.const(0)))
    fails("divided by the constant 0", LegalizeQnn(), mod)
