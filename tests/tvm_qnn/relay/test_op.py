from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tvm
from tvm import relax

from qnn_ops.errors import QnnError
from tests.support.errors import fails
from tvm_qnn import relay
from tvm_qnn.relay import graph_executor

X = np.random.default_rng(2).normal(size=(2, 3, 4, 4)).astype(np.float32)
PLACES = np.random.default_rng(3).integers(-2, 5, (2, 5, 4, 4), np.int32)
SLOPES = np.array([0.5, -1, 0.25], np.float32)
ONES = relay.const(np.ones(4, np.float32))
ROWS = np.random.default_rng(4).normal(size=(5, 12, 3)).astype(np.float32)
ON, OFF = relay.const(5), relay.const(-1.0)


def whole(x: np.ndarray) -> np.ndarray:
    return x.astype(np.int32)


def halves_of(x: Any) -> Any:
    return relay.round(relay.multiply(x, relay.const(3.0)))


def away(x: np.ndarray) -> np.ndarray:
    def rounded(values: np.ndarray) -> np.ndarray:
        return np.sign(values) * np.floor(np.abs(values) + 0.5)

    return rounded(rounded(x * np.float32(3)) / 2)


def rectified(x: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    return np.where(x > 0, x, x * SLOPES.reshape(shape))


CASES: list[tuple[Callable[[Any], Any], Callable[[np.ndarray], np.ndarray]]] = [
    (lambda x: relay.add(x, x), lambda x: x + x),
    (lambda x: relay.subtract(x, relay.const(1.5)), lambda x: x - np.float32(1.5)),
    (lambda x: relay.multiply(x, x), lambda x: x * x),
    (lambda x: relay.divide(x, relay.const(2.0)), lambda x: x / 2),
    (lambda x: relay.maximum(x, relay.const(0.0)), lambda x: np.maximum(x, 0)),
    (lambda x: relay.minimum(x, relay.const(0.0)), lambda x: np.minimum(x, 0)),
    (lambda x: relay.max(x, axis=[2, 3]), lambda x: x.max(axis=(2, 3))),
    (lambda x: relay.min(x, 1, True), lambda x: x.min(axis=1, keepdims=True)),
    (lambda x: relay.reshape(x, (0, -1)), lambda x: x.reshape(2, -1)),
    (lambda x: relay.transpose(x, (0, 2, 3, 1)), lambda x: x.transpose(0, 2, 3, 1)),
    (lambda x: relay.transpose(x), lambda x: x.transpose()),
    (lambda x: relay.squeeze(relay.expand_dims(x, 1, 2)), lambda x: x),
    (lambda x: relay.concatenate([x, x], axis=1), lambda x: np.concatenate([x, x], 1)),
    (lambda x: relay.concatenate(relay.Tuple([x, x]), 0), lambda x: np.concatenate([x, x], 0)),
    (lambda x: relay.cast(x, "int32"), lambda x: x.astype(np.int32)),
    (lambda x: relay.abs(relay.floor(x)), lambda x: np.abs(np.floor(x))),
    (lambda x: relay.negative(relay.ceil(x)), lambda x: -np.ceil(x)),
    (lambda x: relay.op.fields_of(relay.split(x, 3, 1))[1], lambda x: x[:, 1:2]),
    (lambda x: relay.where(relay.less(x, relay.const(0.0)), x, -x), lambda x: -np.abs(x)),
    (lambda x: relay.tile(x, (1, 2, 1, 1)), lambda x: np.tile(x, (1, 2, 1, 1))),
    (lambda x: relay.repeat(x, 2, 1), lambda x: np.repeat(x, 2, 1)),
    (
        lambda x: relay.broadcast_to(relay.reshape(x, (1, 2, 3, 4, 4)), (5, 2, 3, 4, 4)),
        lambda x: np.stack([x] * 5),
    ),
    (lambda x: relay.strided_slice(x, [0, 1], [2, 3]), lambda x: x[:, 1:3]),
    (
        lambda x: relay.strided_slice(x, [1, 0], [-1, 2], axes=[2, 3], slice_mode="size"),
        lambda x: x[:, :, 1:, :2],
    ),
    (lambda x: relay.take(x, relay.const([2, 0]), axis=1), lambda x: x[:, [2, 0]]),
    (lambda x: relay.take(x, relay.const([7, 0])), lambda x: x.ravel()[[7, 0]]),
    (lambda x: relay.topk(x, 2, 3, "values"), lambda x: -np.sort(-x, axis=3)[..., :2]),
    (lambda x: relay.nn.leaky_relu(x, 0.5), lambda x: np.where(x < 0, x * np.float32(0.5), x)),
    (lambda x: relay.nn.dropout(x), lambda x: x),
    (
        lambda x: relay.floor_mod(relay.cast(x, "int32"), relay.const(3)),
        lambda x: np.asarray(whole(x) % 3),
    ),
    (lambda x: relay.sign(x), np.sign),
    (lambda x: relay.round(relay.multiply(relay.cast(x, "int32"), relay.const(1))), whole),
    (lambda x: relay.round(relay.divide(halves_of(x), relay.const(2.0))), away),
    (lambda x: relay.add(x, relay.zeros((4,), "float32")), lambda x: x),
    (lambda x: relay.multiply(x, relay.ones((4,), "float32")), lambda x: x),
    (lambda x: relay.add(x, relay.full(relay.const(2), (4,), "float32")), lambda x: x + 2),
    (lambda x: relay.argmax(x, 1), lambda x: x.argmax(1).astype(np.int32)),
    (lambda x: relay.argmin(x, 3, True), lambda x: x.argmin(3, keepdims=True).astype(np.int32)),
    (lambda x: relay.stack([x, -x], 1), lambda x: np.stack([x, -x], 1)),
    (lambda x: relay.nn.global_max_pool2d(x), lambda x: x.max(axis=(2, 3), keepdims=True)),
    (
        lambda x: relay.nn.pad(x, ((0, 0), (0, 0), (1, 2), (0, 1)), 3.0),
        lambda x: np.pad(x, ((0, 0), (0, 0), (1, 2), (0, 1)), constant_values=3),
    ),
    (
        lambda x: relay.nn.depth_to_space(relay.reshape(x, (1, 8, 3, 4)), 2),
        lambda x: x.reshape(2, 2, 2, 3, 4).transpose(2, 3, 0, 4, 1).reshape(1, 2, 6, 8),
    ),
    (
        lambda x: relay.nn.depth_to_space(relay.reshape(x, (1, 8, 3, 4)), 2, mode="CRD"),
        lambda x: x.reshape(2, 2, 2, 3, 4).transpose(0, 3, 1, 4, 2).reshape(1, 2, 6, 8),
    ),
    (lambda x: relay.zeros_like(x), np.zeros_like),
    (lambda x: relay.ones_like(x), np.ones_like),
    (lambda x: relay.max(x, (1, -1), exclude=True), lambda x: x.max((0, 2))),
    (lambda x: relay.all(relay.less(x, relay.const(1.0)), 1), lambda x: np.asarray((x < 1).all(1))),
    (
        lambda x: relay.any(relay.less(x, relay.const(-1.0)), 3, True),
        lambda x: np.asarray((x < -1).any(3, keepdims=True)),
    ),
    (
        lambda x: relay.add(x, relay.arange(relay.const(4.0))),
        lambda x: x + np.array([0, 1, 2, 3], np.float32),
    ),
    (lambda x: relay.arange(7, 2, -2, "int32"), lambda _: np.array([7, 5, 3], np.int32)),
    (
        lambda x: relay.gather(x, -3, relay.const(PLACES)),
        lambda x: np.take_along_axis(x, PLACES.clip(0, 2), 1),
    ),
    (
        lambda x: relay.one_hot(relay.const(PLACES[0, 0]), ON, OFF, 3, 1, "int8"),
        lambda _: np.where(PLACES[0, 0][:, None] == np.arange(3)[:, None], 5, -1).astype(np.int8),
    ),
    (lambda x: relay.sort(x, 1), lambda x: np.sort(x, 1)),
    (lambda x: relay.sort(x, is_ascend=False), lambda x: -np.sort(-x)),
    (lambda x: relay.argsort(x, 2), lambda x: x.argsort(2).astype(np.int32)),
    (lambda x: relay.argsort(x, 2, 0, "int64"), lambda x: (-x).argsort(2)),
    (lambda x: relay.cumsum(relay.cast(x, "int32"), 3), lambda x: whole(x).cumsum(3, np.int32)),
    (
        lambda x: relay.cumsum(relay.cast(x, "int32"), dtype="int64"),
        lambda x: x.astype(np.int64).cumsum(),
    ),
    (
        lambda x: relay.cumsum(relay.cast(x, "int32"), 3, exclusive=True),
        lambda x: whole(x).cumsum(3, np.int32) - whole(x),
    ),
    (lambda x: relay.nn.prelu(x, relay.const(SLOPES)), lambda x: rectified(x, (3, 1, 1))),
    (
        lambda x: relay.nn.prelu(relay.reshape(x, (2, 16, 3)), relay.const(SLOPES), -1),
        lambda x: rectified(x.reshape(2, 16, 3), (3,)),
    ),
    (lambda x: relay.nn.upsampling(x, 2, 3), lambda x: x.repeat(2, 2).repeat(3, 3)),
    (
        lambda x: relay.nn.upsampling(relay.transpose(x, (0, 2, 3, 1)), 2, 2, "NHWC"),
        lambda x: x.transpose(0, 2, 3, 1).repeat(2, 1).repeat(2, 2),
    ),
    (lambda x: relay.nn.batch_flatten(x), lambda x: x.reshape(2, -1)),
    (
        lambda x: relay.nn.max_pool2d(x, (2, 2), strides=(2, 2)),
        lambda x: x.reshape(2, 3, 2, 2, 2, 2).max(axis=(3, 5)),
    ),
]


def run(body: Callable[[Any], Any]) -> list[np.ndarray]:
    x = relay.var("x", shape=X.shape, dtype="float32")
    expr = body(x)
    mod = tvm.IRModule.from_expr(relay.Function(relay.analysis.free_vars(expr), expr))
    executor = graph_executor.GraphModule(relay.build(mod, "llvm")["default"](tvm.cpu()))
    executor.run(x=X)
    return [executor.get_output(i).numpy() for i in range(executor.num_outputs)]


def test_exact_operators() -> None:
    results = run(lambda x: relay.Tuple([made(x) for made, _ in CASES]))
    for result, (_, expected) in zip(results, CASES, strict=True):
        np.testing.assert_array_equal(result, expected(X))


def test_sums_and_exponentials() -> None:
    def body(x: Any) -> Any:
        averages = [relay.nn.global_avg_pool2d(x), relay.mean(x, [2, 3], keepdims=True)]
        spreads = [relay.variance(x, 1), relay.variance(x, (2, 3), True, unbiased=True)]
        known = relay.variance(x, 1, with_mean=relay.const(np.zeros((1, 1, 1, 1), np.float32)))
        normal = relay.nn.layer_norm(x, relay.const(np.arange(4.0, dtype="float32")), ONES)
        sums = relay.nn.conv1d(relay.reshape(x, (2, 12, 4)), relay.const(ROWS), padding=1)
        return relay.Tuple(
            [*averages, relay.sum(x, 1), relay.nn.softmax(x), *spreads, known, normal, sums]
        )

    average, mean, total, softmax, spread, unbiased, known, normal, sums = run(body)
    # float32 sums in another order.
    np.testing.assert_allclose(average, X.mean(axis=(2, 3), keepdims=True), atol=1e-6)
    np.testing.assert_allclose(mean, average, atol=1e-6)
    np.testing.assert_allclose(total, X.sum(axis=1), atol=1e-6)
    np.testing.assert_allclose(softmax.sum(axis=-1), 1, atol=1e-6)
    np.testing.assert_allclose(spread, X.var(axis=1), rtol=1e-5, atol=1e-6)
    of_images = X.var(axis=(2, 3), ddof=1, keepdims=True)
    np.testing.assert_allclose(unbiased, of_images, rtol=1e-5)
    np.testing.assert_allclose(known, (X**2).mean(axis=1), rtol=1e-5)
    centred = X - X.mean(-1, keepdims=True)
    scaled = centred / np.sqrt(X.var(-1, keepdims=True) + 1e-5)
    np.testing.assert_allclose(normal, scaled * np.arange(4) + 1, atol=1e-5)
    windows = np.lib.stride_tricks.sliding_window_view(
        np.pad(X.reshape(2, 12, 4), ((0, 0), (0, 0), (1, 1))), 3, axis=2
    )
    np.testing.assert_allclose(sums, np.einsum("ncwk,ock->now", windows, ROWS), atol=1e-5)


def test_free_variables_in_the_order_they_are_met() -> None:
    x, y = relay.var("x", (2,)), relay.var("y", (2,))
    expr = relay.add(relay.multiply(y, x), relay.clip(y, 0, 1))
    assert relay.analysis.free_vars(expr) == [y, x]
    assert relay.analysis.free_vars(relay.const(1.0)) == []


def test_what_does_not_fit_is_named() -> None:
    x = relay.var("x", (2, 3))
    fails(r"reshape: .* keeps an axis", relay.reshape, x, (1, 1, 0))
    fails("sum: exclude needs an axis", relay.sum, x, exclude=True)
    fails("add: rhs must be a Relax expression, got float", relay.add, x, 1.5)
    assert isinstance(relay.add(x, x), relax.Call)
    with pytest.raises(QnnError, match="with its own framework's tools"):
        relay.quantize  # noqa: B018
    with pytest.raises(AttributeError, match="has no nothing_like_this"):
        relay.nothing_like_this  # noqa: B018
    assert relay.op.get("nn.conv2d").name == "relax.nn.conv2d"
    fails(r"no operator 'nn\.conv9d'", relay.op.get, "nn.conv9d")


def test_an_expression_in_place_of_known_numbers_is_an_error() -> None:
    x = relay.var("x", (2, 3))
    for name, parameter in (
        ("broadcast_to", "shape"),
        ("reshape", "newshape"),
        ("tile", "reps"),
        ("transpose", "axes"),
        ("sum", "axis"),
    ):
        function, text = getattr(relay, name), f"{name}: {parameter} must not be a Relax expression"
        fails(f"{text}, got Var", function, x, x)
        fails(f"{text}, got GenericConst", function, x, **{parameter: relay.const([1, 2])})
        fails(f"{text}, got Var", function, x, [x, 2])
    assert list(relay.reshape(x, relax.ShapeExpr([3, 2])).ty.shape) == [3, 2]
    assert list(relay.arange(relay.const(2)).ty.shape) == [2]


def test_batches_are_normalized_by_their_stated_mean() -> None:
    numbers = [np.array(each, np.float32) for each in ([1, 2, 3], [0, 1, 2], [5, 6, 7], [1, 4, 9])]
    gamma, beta, mean, variance = numbers
    (result,) = run(lambda x: relay.nn.batch_norm(x, *map(relay.const, numbers))[0])
    shape = (1, 3, 1, 1)
    expected = (X - mean.reshape(shape)) / np.sqrt(variance.reshape(shape) + 1e-5)
    expected = expected * gamma.reshape(shape) + beta.reshape(shape)
    np.testing.assert_allclose(result, expected, rtol=1e-5)  # TVM may divide by a product


def test_an_index_out_of_range_takes_the_nearest(capfd: pytest.CaptureFixture[str]) -> None:
    x, i = relay.var("x", (4,)), relay.var("i", shape=(3,), dtype="int32")
    taken = relay.Function([x, i], relay.take(x, i, mode="fast"))
    data, indices = np.arange(4, dtype=np.float32), np.array([1, 9, -5], np.int32)
    assert relay.create_executor().evaluate(taken)(data, indices).numpy().tolist() == [1, 3, 0]
    assert capfd.readouterr() == ("", "")


def test_a_let_binds_a_value_to_a_variable() -> None:
    x, y = relay.var("x", (4,)), relay.var("y", (4,))
    halves = relay.split(relay.multiply(y, y), 2)
    body = relay.add(relay.TupleGetItem(halves, 1), relay.const(1.0))
    function = relay.Function([x], relay.Let(y, relay.add(x, x), body))
    data = np.arange(4, dtype=np.float32)
    result = relay.create_executor().evaluate(function)(data).numpy()
    np.testing.assert_array_equal(result, (2 * data[2:]) ** 2 + 1)


@pytest.mark.parametrize("value", [True, False])
def test_an_if_gives_one_of_two_tensors(value: bool) -> None:
    x, cond = relay.var("x", (3,)), relay.var("cond", shape=(), dtype="bool")
    chosen = relay.If(cond, relay.add(x, relay.const(1.0)), relay.negative(x))
    data = np.arange(3, dtype=np.float32)
    evaluate = relay.create_executor().evaluate(relay.Function([x, cond], chosen))
    expected = data + 1 if value else -data
    np.testing.assert_array_equal(evaluate(data, np.array(value)).numpy(), expected)


def test_tensors_that_differ_are_refused() -> None:
    x, cond = relay.var("x", (3,)), relay.var("cond", shape=(), dtype="bool")
    fails("two tensors alike", relay.If, cond, x, relay.var("y", (4,)))
    fails("needs a bool", relay.If, x, x, x)
