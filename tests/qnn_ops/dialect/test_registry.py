import inspect
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import tvm
from tvm import relax

import legalize.primitives
import qnn_ops
from qnn_ops import QnnError, quantize, quantized_concat, quantized_conv2d
from qnn_ops.arrays import Array
from qnn_ops.dialect import declared
from qnn_ops.dialect.plain import plain
from qnn_ops.dialect.registry import (
    OPERATORS,
    R_QNN,
    Attrs,
    Operator,
    TensorSpec,
    attrs_of,
    constant_of,
    operator,
    operator_of,
    spec_of,
    with_attrs,
)
from tests.support.errors import fails
from tests.support.operators import check_round_trips, module_of


@pytest.fixture(scope="module")
def scaled() -> Iterator[Operator[Any]]:
    """Yield an operator of the test's own: int8 data times a factor, as int32."""

    @operator()
    def scaled_for_test(
        data: relax.Expr,
        other: relax.Expr | None = None,
        offset: relax.Expr | None = None,
        factor: declared.Int = 2,
    ) -> None:
        """Multiply."""

    yield scaled_for_test
    del OPERATORS[scaled_for_test.op.name]
    delattr(R_QNN, scaled_for_test.name)


def use(op: Operator[Any], rule: Any, reference: Any) -> None:
    op.type_rule(rule)
    op.reference(reference)


def right_type(_attrs: Attrs, data: TensorSpec) -> TensorSpec:
    return TensorSpec(data.shape, "int32")


def right_reference(attrs: Attrs, data: Array) -> Array:
    return data.astype(np.int32) * attrs.factor


@pytest.mark.parametrize("name", sorted(OPERATORS))
def test_every_operator_is_whole(name: str) -> None:
    op = OPERATORS[name]
    assert name == f"relax.qnn.{op.name}"
    assert getattr(qnn_ops, op.name) is op
    assert op.name in qnn_ops.__all__
    assert op._type_rule is not None
    assert op._references["tflite"] is not None
    assert name in legalize.primitives.PRIMITIVES
    assert op.op.get_attr("FLegalize") is not None
    assert hasattr(R_QNN, op.name)
    assert repr(op) == f"<operator {name}>"


@pytest.mark.parametrize("name", sorted(OPERATORS))
def test_every_operator_is_documented(name: str) -> None:
    text = OPERATORS[name].__doc__ or ""
    for section in ("Args:", "Returns:", "Raises:"):
        assert section in text
    for parameter in inspect.signature(OPERATORS[name]).parameters:
        assert re.search(rf"^    {parameter}: \S", text, re.MULTILINE), parameter


def test_an_operator_without_rules_says_so(scaled: Operator[Any]) -> None:
    use(scaled, None, None)
    fails("scaled_for_test: the operator has no reference", scaled.evaluate, np.zeros(3, np.int8))
    with pytest.raises(QnnError, match="scaled_for_test: the operator has no type rule"):
        module_of(scaled, [np.zeros(3, np.int8)])


def test_a_reference_that_breaks_the_type_rule_is_caught(scaled: Operator[Any]) -> None:
    use(scaled, right_type, lambda _attrs, data: data)
    fails(r"gave int8\(3,\), the type rule says int32\(3,\)", scaled.evaluate, np.zeros(3, np.int8))


def test_an_operator_computes_prints_parses_and_is_pure(scaled: Operator[Any]) -> None:
    use(scaled, right_type, right_reference)
    data = np.array([1, -2], np.int8)
    np.testing.assert_array_equal(scaled.evaluate(data, factor=3), [3, -6])
    mod = module_of(scaled, [data], factor=3)
    text = mod.script()
    assert "R.qnn.scaled_for_test(x0, factor=3)" in text
    tvm.ir.assert_structural_equal(tvm.script.from_source(text), mod)
    assert mod["main"].is_pure


def test_absent_operands_may_only_come_last(scaled: Operator[Any]) -> None:
    data = relax.Var("x", relax.TensorType((2,), "int8"))
    assert len(scaled(data, None, None).args) == 1
    fails("scaled_for_test: an operand before the last one is miss", scaled, data, None, data)


def test_a_call_made_by_hand_without_its_attributes_is_an_error() -> None:
    data = relax.Var("x", relax.TensorType((2,), "float32"))
    with pytest.raises(QnnError, match=r"quantize: malformed call: .*axis"):
        relax.BlockBuilder().normalize(relax.Call(quantize.op, [data]))


def test_a_call_made_by_hand_with_a_missing_operand_is_an_error() -> None:
    attrs = {"scale": 1.0, "zero_point": 0, "out_dtype": "int8", "axis": -1}
    call = relax.Call(quantize.op, [], tvm.ir.make_node("ir.DictAttrs", **attrs))
    fails("quantize: malformed call", relax.BlockBuilder().normalize, call)


def test_a_call_made_by_hand_with_lists_of_the_wrong_length_is_an_error() -> None:
    data, kernel = (relax.Var(name, relax.TensorType((1, 1, 3, 3), "int8")) for name in "xk")
    call = quantized_conv2d(data, kernel, 0.5, 1, 0.25, 0, 1.0, 2, "int8")
    attrs = {**{key: call.attrs[key] for key in call.attrs.keys()}, "strides": [1]}  # noqa: SIM118
    broken = relax.Call(call.op, call.args, tvm.ir.make_node("ir.DictAttrs", **attrs))
    fails("quantized_conv2d: malformed call", relax.BlockBuilder().normalize, broken)


def test_what_is_no_expression_is_named() -> None:
    fails("quantize: data must be a Relax expression, got float", quantize, 1.0, 1.0, 0, "int8")


def test_operands_of_unknown_shape_are_named() -> None:
    call = quantize(relax.Var("x", relax.TensorType(ndim=1, dtype="float32")), 1.0, 0, "int8")
    fails("quantize: data must have a shape known at compile", relax.BlockBuilder().normalize, call)
    pair = relax.Var("x", relax.TupleType([relax.TensorType(ndim=1, dtype="uint8")]))
    call = quantized_concat(pair, [1.0], [0], 1.0, 0, "uint8")
    with pytest.raises(QnnError, match=r"quantized_concat: quantized_inputs\[0\] must have a sh"):
        relax.BlockBuilder().normalize(call)


def test_operands_that_are_no_tensors_are_named() -> None:
    call = quantize(relax.Var("x", relax.ShapeType([1, 2])), 1.0, 0, "int8")
    fails("quantize: data must be a tensor, got", relax.BlockBuilder().normalize, call)
    pair = relax.Var("x", relax.TupleType([relax.TensorType((1,), "float32")]))
    with pytest.raises(QnnError, match="quantize: malformed call"):
        relax.BlockBuilder().normalize(quantize(pair, 1.0, 0, "int8"))


def test_type_inference_gives_shape_and_dtype() -> None:
    data = relax.Var("x", relax.TensorType((2, 3), "float32"))
    call = relax.BlockBuilder().normalize(quantize(data, 1.0, 0, "int8"))
    assert spec_of(call) == TensorSpec((2, 3), "int8")


def test_positional_attributes_in_script_are_those_of_the_function() -> None:
    text = """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "int8"):
        y = R.qnn.quantize(x, 0.5, 3, "int8")
        return y
"""
    named = text.replace('0.5, 3, "int8"', 'scale=0.5, zero_point=3, out_dtype="int8"')
    tvm.ir.assert_structural_equal(tvm.script.from_source(text), tvm.script.from_source(named))


def test_equal_calls_are_structurally_equal_however_they_are_written() -> None:
    data = np.zeros((2, 3), np.float32)
    first = module_of(
        quantize, [data], scale=np.float32(0.1), zero_point=np.int64(3), out_dtype="int8"
    )
    second = module_of(quantize, [data], scale=[0.1], zero_point=[3], out_dtype="int8", axis=-1)
    tvm.ir.assert_structural_equal(first, second)


def test_scales_survive_script_and_json_to_the_last_bit() -> None:
    rng = np.random.default_rng(1)
    scales = np.exp2(rng.uniform(-126, 127, 50)).astype(np.float32)
    data = np.zeros((2, 50), np.float32)
    attrs = {"scale": scales.tolist(), "zero_point": 0, "out_dtype": "int8"}
    check_round_trips(module_of(quantize, [data], **attrs))
    call = quantize(relax.const(data), **attrs)
    np.testing.assert_array_equal(np.array(attrs_of(call).scale, np.float32), scales)


def test_attributes_come_back_as_plain_values() -> None:
    data, kernel = (
        relax.Var(name, relax.TensorType((1, 1, 1, 1), "int8")) for name in ("data", "kernel")
    )
    call = quantized_conv2d(data, kernel, 0.5, 1, [0.25, 0.5], [0, 1], 1.0, 2, "int8", strides=2)
    attrs = attrs_of(call)
    assert attrs.input_scale == 0.5
    assert attrs.kernel_scale == (0.25, 0.5)
    assert attrs.kernel_zero_point == (0, 1)
    assert attrs.strides == (2, 2)
    assert attrs.out_dtype == "int8"
    assert isinstance(attrs.groups, int)
    assert not hasattr(attrs, "channels")
    assert vars(attrs_of(relax.op.add(data, data))) == {}


def test_attributes_that_were_written_are_those_that_tvm_holds() -> None:
    data = relax.Var("x", relax.TensorType((1, 4), "float32"))
    call = with_attrs(
        quantize(data, [0.5, 1.0, 2.0, 4.0], 3, "int8", 1), scale=(1.0, 2.0, 3.0, 4.0)
    )
    assert attrs_of(call).scale == (1.0, 2.0, 3.0, 4.0)
    assert vars(attrs_of(call)) == {name: plain(value) for name, value in call.attrs.items()}


def test_calls_and_constants_are_told_apart() -> None:
    data = relax.Var("x", relax.TensorType((2,), "float32"))
    call = quantize(data, 1.0, 0, "int8")
    assert operator_of(call) is quantize
    assert operator_of(relax.op.add(data, data)) is None
    assert operator_of(data) is None
    assert constant_of(data) is None
    np.testing.assert_array_equal(constant_of(relax.const(np.arange(3))), np.arange(3))
