from collections import Counter

import numpy as np
import pytest
import tvm
from tvm import relax

from legalize.passes.in_strips import InStrips, Strips
from qnn_ops import quantized_conv2d, quantized_prelu
from qnn_ops.arrays import Array
from qnn_ops.dialect.registry import operator_of
from tests.support.arrays import full_range
from tests.support.encodings import encodings
from tests.support.modules import calls_of, module
from tests.support.stems import SHAPE, conv, emit, network
from tvm_qnn import build

TARGET = "llvm"
X = full_range(np.random.default_rng(0), "int8", SHAPE)


def in_strips(mod: tvm.IRModule, strips: Strips | None) -> tvm.IRModule:
    return InStrips(lambda _function, _stems: strips)(mod)


@pytest.fixture(scope="module")
def expected() -> Array:
    return np.asarray(build(network(), TARGET).run(X))


@pytest.mark.parametrize(("stem", "rows"), [(0, 4), (1, 1), (3, 2), (3, 4)])
def test_strips_are_the_whole(stem: int, rows: int, expected: Array) -> None:
    mod = in_strips(network(), Strips(stem, rows))
    np.testing.assert_array_equal(build(mod, TARGET).run(X), expected)


def test_each_strip_has_its_layers_and_nothing_runs_twice() -> None:
    mod = in_strips(network(), Strips(1, 2))
    called = Counter(getattr(operator_of(call), "name", None) for call in calls_of(mod))
    # Three convolutions of the stem in three strips, and two others.
    assert called[quantized_conv2d.name] == 3 * 3 + 2
    assert called["quantized_add"] == 3


def test_a_slope_of_each_channel_is_the_same_in_all_strips() -> None:
    def body(x: relax.Var) -> relax.Expr:
        first = conv(x, (8, 3, 3, 4), padding=(1, 1, 1, 1))
        slopes = relax.const(full_range(np.random.default_rng(1), "int8", (1, 1, 8)))
        attrs = encodings(lhs=(0.08, 5), rhs=(0.01, 3), output=(0.06, -4), out_dtype="int8")
        return conv(emit(quantized_prelu(first, slopes, **attrs)), (4, 3, 3, 8), strides=(2, 2))

    mod = module({"x": relax.TensorType(SHAPE, "int8")}, body)
    cut = in_strips(mod, Strips(0, 2))
    called = Counter(getattr(operator_of(call), "name", None) for call in calls_of(cut))
    assert called["quantized_prelu"] == 7
    np.testing.assert_array_equal(build(cut, TARGET).run(X), build(mod, TARGET).run(X))


def test_none_that_is_chosen_leaves_all_as_it_is() -> None:
    mod = network()
    tvm.ir.assert_structural_equal(in_strips(mod, None), mod)
