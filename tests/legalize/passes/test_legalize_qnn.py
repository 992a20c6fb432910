from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import tvm
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R

from legalize.passes import LegalizeQnn
from qnn_ops import QnnError
from qnn_ops.dialect.registry import OPERATORS, R_QNN, Attrs, Operator, TensorSpec, operator
from tests.support.arrays import full_range
from tests.support.encodings import encodings
from tests.support.modules import module
from tests.support.operators import module_of, run


def normal_form(mod: tvm.IRModule) -> tvm.IRModule:
    """Every call bound to a variable of its own, as passes leave it."""
    return relax.transform.Normalize()(mod)


def test_each_operator_becomes_its_primitives_and_the_rest_stays() -> None:
    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor((2, 3), "int8"), table: R.Tensor((256,), "uint8")) -> R.Tensor(
            (4, 3), "uint8"
        ):
            with R.dataflow():
                padded = R.qnn.quantized_pad(x, pad_width=[0, 2, 0, 0], pad_value=-7)
                flat = R.reshape(padded, (12,))
                found = R.qnn.quantized_lookup(flat, table)
                y = R.reshape(found, (4, 3))
                R.output(y)
            return y

    @I.ir_module
    class Expected:
        @R.function
        def main(x: R.Tensor((2, 3), "int8"), table: R.Tensor((256,), "uint8")) -> R.Tensor(
            (4, 3), "uint8"
        ):
            with R.dataflow():
                padded = R.nn.pad(x, [0, 2, 0, 0], pad_value=-7)
                flat = R.reshape(padded, (12,))
                index = R.subtract(R.astype(flat, "int32"), R.const(-128, "int32"))
                found = R.take(table, index, axis=0, mode="clip")
                y = R.reshape(found, (4, 3))
                R.output(y)
            return y

    tvm.ir.assert_structural_equal(LegalizeQnn()(Before), normal_form(Expected))


def test_requantize_becomes_one_64_bit_product_and_one_shift() -> None:
    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor((4,), "uint8")) -> R.Tensor((4,), "int8"):
            with R.dataflow():
                y = R.qnn.requantize(
                    x,
                    rounding="upward",
                    **encodings(input=(0.5, 128), output=(1.0, 3), out_dtype="int8"),
                )
                R.output(y)
            return y

    @I.ir_module
    class Expected:
        @R.function
        def main(x: R.Tensor((4,), "uint8")) -> R.Tensor((4,), "int8"):
            with R.dataflow():
                centred = R.subtract(R.astype(x, "int32"), R.const(128, "int32"))
                # A half is 2^30 / 2^31 without a shift.
                product = R.multiply(R.astype(centred, "int64"), R.const(2**30, "int64"))
                rounded = R.right_shift(
                    R.add(product, R.const(2**30, "int64")), R.const(31, "int64")
                )
                wrapped = R.astype(rounded, "int32")
                moved = R.add(R.astype(wrapped, "int64"), R.const(3, "int64"))
                bounded = R.minimum(R.maximum(moved, R.const(-128, "int64")), R.const(127, "int64"))
                y = R.astype(bounded, "int8")
                R.output(y)
            return y

    tvm.ir.assert_structural_equal(LegalizeQnn()(Before), normal_form(Expected))


def test_a_module_without_our_operators_stays_as_it_is() -> None:
    @I.ir_module
    class Plain:
        @R.function
        def main(x: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
            with R.dataflow():
                y = R.nn.relu(x)
                R.output(y)
            return y

    tvm.ir.assert_structural_equal(LegalizeQnn()(Plain), Plain)


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
    @operator("data")
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
    with pytest.raises(QnnError, match="ruleless_for_test: no rule lowers this operator"):
        LegalizeQnn()(mod)


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
    with pytest.raises(QnnError, match="divided by the constant 0"):
        LegalizeQnn()(mod)
