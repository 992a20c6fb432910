from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tvm

from qnn_ops.errors import QnnError
from tests.support.errors import fails
from tests.support.modules import adder
from tvm_qnn import relay
from tvm_qnn.relay.expr import module_of


def test_the_build_s_own_passes_change_nothing_and_constants_are_folded() -> None:
    mod = adder()
    passes = [relay.transform.InferType(), relay.transform.FuseOps(fuse_opt_level=2)]
    passes += [relay.qnn.transform.Legalize(), relay.qnn.transform.CanonicalizeOps()]
    for each in passes:
        assert each(mod).same_as(mod)
    x = relay.var("x", shape=(2,), dtype="float32")
    body = relay.add(x, relay.multiply(relay.const(2.0), relay.const(3.0)))
    folded = relay.transform.FoldConstant()(tvm.IRModule.from_expr(relay.Function([x], body)))
    assert "multiply" not in folded.script()


def test_what_has_no_meaning_is_named() -> None:
    with pytest.raises(AttributeError, match="no Defunctionalization: it has no meaning"):
        relay.transform.Defunctionalization()
    fails("kernels of vendors are not called", getattr, relay.transform, "PartitionGraph")


RNG = np.random.default_rng(11)
X = RNG.integers(-128, 128, (1, 8, 6, 6), dtype=np.int8)
Y = RNG.integers(-128, 128, (1, 8, 6, 6), dtype=np.int8)
KERNEL = RNG.integers(-20, 20, (4, 8, 3, 3), dtype=np.int8)
ROWS = RNG.integers(-20, 20, (5, 8), dtype=np.int8)
SCALES = np.array([0.5, 0.25, 1.0, 0.125], np.float32)
EIGHT = np.linspace(0.2, 0.9, 8).astype(np.float32)


def real(x: Any, scale: Any = 0.5, point: Any = 3, axis: int = -1) -> Any:
    return relay.qnn.dequantize(x, relay.const(scale), relay.const(point), axis)


def conv(x: Any, _y: Any) -> Any:
    kernel = real(relay.const(KERNEL), SCALES, np.zeros(4, np.int32), 0)
    sums = relay.nn.conv2d(real(x), kernel, padding=1)
    bias = real(relay.const(np.arange(4, dtype=np.int32)), SCALES / 2, np.zeros(4, np.int32), 0)
    return relay.nn.relu(relay.nn.bias_add(sums, bias))


def rows(x: Any, _y: Any) -> Any:
    flat = relay.reshape(relay.transpose(real(x), (0, 2, 3, 1)), (36, 8))
    scales = np.linspace(0.1, 0.5, 5).astype(np.float32)
    weights = real(relay.const(ROWS), scales, np.zeros(5, np.int32), 0)
    return relay.add(relay.nn.dense(flat, weights), relay.const(np.arange(5, dtype=np.float32)))


# A group, and how far integers may lie from the rounded real numbers: each operand of a sum is
# rounded by itself, a LeakyRelu twice.
GROUPS: dict[str, tuple[Callable[[Any, Any], Any], int]] = {
    "convolution, bias and relu": (conv, 1),
    "rows": (rows, 1),
    "sum of two scales": (lambda x, y: relay.add(real(x), real(y, 0.3, -5)), 1),
    "difference": (lambda x, y: relay.subtract(real(x), real(y, 0.3, -5)), 1),
    "product": (lambda x, y: relay.multiply(real(x, 0.1), real(y, 0.3, -5)), 0),
    "larger": (lambda x, y: relay.maximum(real(x), real(y, 0.3, -5)), 0),
    "sum with a constant": (lambda x, _y: relay.add(real(x), relay.const(1.5)), 0),
    "average": (lambda x, _y: relay.nn.avg_pool2d(real(x), (3, 3)), 1),
    "mean": (lambda x, _y: relay.mean(real(x), (2, 3)), 1),
    "resized image": (lambda x, _y: relay.image.resize2d(real(x), (4, 9)), 1),
    "nearest pixels": (lambda x, _y: relay.nn.upsampling(real(x), 2, 2), 0),
    "largest": (lambda x, _y: relay.nn.max_pool2d(real(x), (2, 2)), 0),
    "clip": (lambda x, _y: relay.clip(real(x), -4, 6), 0),
    "absolute": (lambda x, _y: relay.abs(real(x)), 0),
    "leaky relu": (lambda x, _y: relay.nn.leaky_relu(real(x), 0.25), 1),
    "pad": (lambda x, _y: relay.nn.pad(real(x), ((0, 0), (0, 0), (1, 1), (1, 1)), 2.0), 0),
    "join": (lambda x, y: relay.concatenate([real(x), real(y, 0.3, -5)], 1), 0),
    "split": (lambda x, _y: relay.split(real(x), 2, 1)[1], 0),
    "table": (lambda x, _y: relay.tanh(real(x, 0.02, 0)), 0),
    "channels": (
        lambda x, _y: relay.nn.relu(
            real(x, np.linspace(0.2, 0.9, 8).astype("float32"), [0] * 8, 1)
        ),
        0,
    ),
}


def folded(
    group: Any, scale: float = 0.7, point: int = -9, **options: Any
) -> tuple[tvm.IRModule, tvm.IRModule]:
    ended = relay.qnn.quantize(group, relay.const(scale), relay.const(point))
    mod = tvm.IRModule.from_expr(relay.Function(relay.analysis.free_vars(ended), ended))
    return mod, relay.transform.FakeQuantizationToInteger(**options)(mod)


def run(mod: tvm.IRModule, *arrays: np.ndarray) -> np.ndarray:
    result: np.ndarray = relay.create_executor("graph", mod).evaluate()(*arrays).numpy()
    return result.astype(np.int32)


@pytest.mark.parametrize("name", GROUPS)
def test_groups_become_integers(name: str) -> None:
    group, bound = GROUPS[name]
    x, y = (relay.var(each, X.shape, "int8") for each in "xy")
    mod, integers = folded(group(x, y), hard_fail=True)
    assert "dequantize" in mod.script()
    assert "dequantize" not in integers.script()
    data = [X, Y][: len(mod["main"].params)]
    assert np.abs(run(mod, *data) - run(integers, *data)).max() <= bound


def test_what_has_no_rule_stays_float_before_a_group_too() -> None:
    x = relay.var("x", shape=X.shape, dtype="int8")
    group = relay.sign(real(x))
    mod, same = folded(group)
    assert "dequantize" in same.script()
    assert np.array_equal(run(mod, X), run(same, X))
    with pytest.raises((QnnError, tvm.error.InternalError), match="no rule for sign"):
        folded(group, hard_fail=True)
    x = relay.var("x", shape=X.shape, dtype="int8")
    inner = relay.qnn.quantize(relay.nn.relu(real(x)), relay.const(0.5), relay.const(3))
    mod, integers = folded(relay.sign(real(inner)))
    assert "relu" not in integers.script()
    assert np.array_equal(run(mod, X), run(integers, X))


def test_sums_are_clamped_where_they_are_joined_and_bounds_may_be_none() -> None:
    x, y = (relay.var(each, X.shape, "int8") for each in "xy")
    sums = relay.add(real(x, 0.7, 0), real(y, 0.7, 0))
    mod, integers = folded(relay.concatenate([sums, sums], 1), 0.7, 0, hard_fail=True)
    assert np.array_equal(run(mod, X, Y), run(integers, X, Y))
    x, y = (relay.var(each, X.shape, "int8") for each in "xy")
    mod, integers = folded(relay.clip(relay.add(real(x), real(y)), 0, 3e38), 0.5, hard_fail=True)
    assert np.array_equal(run(mod, X, Y), run(integers, X, Y))


@pytest.mark.parametrize(
    "operator",
    [
        lambda sums: relay.nn.leaky_relu(sums, 0.25),
        lambda sums: relay.mean(sums, (2, 3)),
        lambda sums: relay.multiply(sums, sums),
        lambda sums: relay.add(sums, relay.const(1e9)),
    ],
)
def test_what_int32_may_not_hold_stays_float(operator: Callable[[Any], Any]) -> None:
    x, y = (relay.var(each, X.shape, "int8") for each in "xy")
    mod, same = folded(operator(relay.add(real(x), real(y))))
    assert "dequantize" in same.script()
    assert np.array_equal(run(mod, X, Y), run(same, X, Y))


def test_networks_are_deeper_than_the_stack_of_python() -> None:
    expr = x = relay.var("x", shape=(2,), dtype="int8")
    for _ in range(600):
        expr = relay.qnn.quantize(relay.nn.relu(real(expr)), relay.const(0.5), relay.const(3))
    mod = tvm.IRModule.from_expr(relay.Function([x], expr))
    assert "dequantize" not in relay.transform.FakeQuantizationToInteger()(mod).script()


def test_softmax_stays_float_unless_it_is_named() -> None:
    x = relay.var("x", shape=(4, 8), dtype="int8")
    logits = X.reshape(-1, 8)[:4]
    group = relay.nn.softmax(real(x, 0.1))
    own = (1 / 256, -128)
    assert "quantized_softmax" not in folded(group, *own)[1].script()
    assert "quantized_softmax" not in folded(group, optional_qnn_ops=["nn.softmax"])[1].script()
    mod, integers = folded(group, *own, optional_qnn_ops=["nn.softmax"])
    assert "quantized_softmax" in integers.script()
    assert np.abs(run(mod, logits) - run(integers, logits)).max() <= 1


def test_groups_that_no_quantize_ends() -> None:
    a, b = (relay.var(name, shape=(1, 4, 2), dtype="int8") for name in "ab")
    product = relay.nn.batch_matmul(real(a, 2.0), relay.negative(real(b, 6.0)))
    moved = relay.reshape(relay.nn.relu(real(a, 2.0)), (1, 2, 4))
    data = np.arange(-4, 4, dtype=np.int8).reshape(1, 4, 2)
    for group, stays in ((product, "R.matmul"), (moved, "")):
        whole = relay.add(group, relay.const(0.25))
        mod = module_of(whole)
        integers = relay.transform.FakeQuantizationToInteger(use_qat=True)(mod)
        text = integers.script()
        assert stays in text
        assert 'dtype="float32") = R.add' in text
        inputs = (data, data)[: len(mod["main"].params)]
        expected, found = (
            relay.create_executor(mod=m).evaluate()(*inputs) for m in (mod, integers)
        )
        np.testing.assert_array_equal(found.numpy(), expected.numpy())
    assert text.index("R.reshape") < text.index("R.qnn.dequantize")
