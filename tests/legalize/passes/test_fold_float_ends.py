from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tvm import relax
from tvm.relax import op as R

from legalize.passes.fold_float_ends import FoldFloatEnds
from legalize.qdq.group import operator_name
from qnn_ops import float_conv2d
from qnn_ops.dialect.registry import attrs_of, constant_of, operator_of
from qnn_ops.unquantized.float_conv2d import bounds_of
from tests.support.modules import module

Emit = Callable[[relax.Expr], relax.Var]
Body = Callable[[Emit, relax.Var], Any]

KERNEL = np.ones((5, 1, 1, 3), np.float32)
BIAS = np.arange(5, dtype=np.float32)


def number(value: float) -> relax.Expr:
    return relax.const(value, "float32")


def conv(emit: Emit, x: relax.Var, *bias: relax.Expr, **attrs: Any) -> relax.Var:
    return emit(float_conv2d(x, relax.const(KERNEL), *bias, **attrs))


def bindings(body: Body) -> list[Any]:
    """Return the variables and values of a module after the pass."""

    def whole(x: relax.Var) -> Any:
        return body(relax.BlockBuilder.current().emit, x)

    mod = FoldFloatEnds()(module({"x": relax.TensorType((1, 2, 5, 3), "float32")}, whole))
    return [
        binding
        for block in mod["main"].body.blocks
        for binding in block.bindings
        if isinstance(binding.value, relax.Call)
    ]


def test_bias_and_bounds_become_the_convolution_s() -> None:
    def body(emit: Emit, x: relax.Var) -> relax.Expr:
        sums = emit(R.add(conv(emit, x), relax.const(BIAS.reshape(1, 1, 1, 5))))
        above = emit(R.maximum(number(0.5), sums))
        return emit(R.minimum(number(6.0), above))

    (binding,) = bindings(body)
    assert operator_of(binding.value) is float_conv2d
    np.testing.assert_array_equal(constant_of(binding.value.args[2]), BIAS)
    assert bounds_of(attrs_of(binding.value)) == (0.5, 6.0)


@pytest.mark.parametrize("order", ["tflite", "onnxruntime_blocked"])
def test_bias_may_be_the_first_operand(order: str) -> None:
    (binding,) = bindings(
        lambda emit, x: emit(R.add(relax.const(BIAS), conv(emit, x, order=order)))
    )
    assert len(binding.value.args) == 3


def test_a_sum_with_another_tensor_becomes_the_convolution_s() -> None:
    def body(emit: Emit, x: relax.Var) -> relax.Expr:
        other = emit(R.abs(conv(emit, x)))
        total = emit(R.add(other, conv(emit, x, relax.const(BIAS))))
        return emit(R.maximum(number(0.0), total))

    *_, absolute, last = bindings(body)
    assert operator_of(last.value) is float_conv2d
    assert last.value.args[3].same_as(absolute.var)
    assert bounds_of(attrs_of(last.value)) == (0.0, None)


@pytest.mark.parametrize("is_turned", [False, True])
def test_the_later_of_two_convolutions_takes_their_sum(*, is_turned: bool) -> None:
    def body(emit: Emit, x: relax.Var) -> relax.Expr:
        operands = [biased(emit, x, order="tflite"), biased(emit, x, order="onnxruntime")]
        return emit(R.add(*operands[:: -1 if is_turned else 1]))

    first, last = bindings(body)
    assert (attrs_of(first.value).order, attrs_of(last.value).order) == ("tflite", "onnxruntime")
    assert last.value.args[3].same_as(first.var)


def test_a_parameter_becomes_an_addend() -> None:
    kernel, bias = np.ones((3, 1, 1, 3), np.float32), np.ones(3, np.float32)
    (binding,) = bindings(
        lambda emit, x: emit(
            R.add(emit(float_conv2d(x, relax.const(kernel), relax.const(bias))), x)
        )
    )
    assert len(binding.value.args) == 4


def biased(emit: Emit, x: relax.Var, **attrs: Any) -> relax.Var:
    return conv(emit, x, relax.const(BIAS), **attrs)


def tensor(emit: Emit, x: relax.Var) -> relax.Var:
    return emit(R.abs(conv(emit, x)))


def channel(emit: Emit, x: relax.Var) -> relax.Var:
    return emit(R.sum(x, [3], keepdims=True))


def of_two(emit: Emit, x: relax.Var) -> list[relax.Expr]:
    sums = conv(emit, x)
    return [emit(R.maximum(number(0.0), sums)), sums]


@pytest.mark.parametrize(
    ("body", "left"),
    [
        # A NaN becomes the bound if that is the second operand.
        (lambda emit, x: emit(R.maximum(conv(emit, x), number(0.0))), "relax.maximum"),
        (lambda emit, x: emit(R.maximum(number(0.0), conv(emit, x, high=6.0))), "relax.maximum"),
        (lambda emit, x: emit(R.minimum(number(np.inf), conv(emit, x))), "relax.minimum"),
        (lambda emit, x: emit(R.minimum(relax.const(BIAS), conv(emit, x))), "relax.minimum"),
        (lambda emit, x: emit(R.add(conv(emit, x), relax.const(BIAS[:1]))), "relax.add"),
        # The result has five axes, as the constant.
        (
            lambda emit, x: emit(R.add(conv(emit, x), relax.const(BIAS.reshape(1, 1, 1, 1, 5)))),
            "relax.add",
        ),
        # The bias of a clamped result, a second one, and one with which sums of this order begin.
        (lambda emit, x: emit(R.add(conv(emit, x, low=0.0), relax.const(BIAS))), "relax.add"),
        (
            lambda emit, x: emit(R.add(conv(emit, x, relax.const(BIAS)), relax.const(BIAS))),
            "relax.add",
        ),
        (
            lambda emit, x: emit(R.add(conv(emit, x, order="onnxruntime_rows"), relax.const(BIAS))),
            "relax.add",
        ),
        (of_two, "relax.maximum"),
        # Sums with a tensor of another shape, without a bias, and of a clamped result.
        (lambda emit, x: emit(R.add(channel(emit, x), biased(emit, x))), "relax.add"),
        (lambda emit, x: emit(R.add(tensor(emit, x), conv(emit, x))), "relax.add"),
        (lambda emit, x: emit(R.add(tensor(emit, x), biased(emit, x, low=0.0))), "relax.add"),
        # With a later tensor the data of the convolution would stay in memory.
        (lambda emit, x: emit(R.add(biased(emit, x), tensor(emit, x))), "relax.add"),
    ],
)
def test_what_stays(body: Body, left: str) -> None:
    assert left in [operator_name(binding.value) for binding in bindings(body)]


def test_a_convolution_keeps_its_name() -> None:
    def body(x: relax.Var) -> relax.Expr:
        builder = relax.BlockBuilder.current()
        sums = builder.emit(float_conv2d(x, relax.const(KERNEL)), "Conv_0")
        bounded = builder.emit(R.maximum(number(0.0), sums), "Relu_1")
        return builder.emit(R.abs(bounded))

    mod = FoldFloatEnds()(module({"x": relax.TensorType((1, 2, 5, 3), "float32")}, body))
    found = relax.analysis.get_var2val(mod["main"])
    assert [each.name for each in found if operator_of(found[each]) is float_conv2d] == ["Conv_0"]
