from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tvm
from tvm import relax

from legalize.kernels.kernel import Fusions
from legalize.passes import fuse_sums
from legalize.passes.fuse_sums import FuseSums
from qnn_ops import quantized_add, quantized_conv2d, quantized_lookup, quantized_subtract
from qnn_ops.dialect.registry import operator_of
from tests.support.encodings import encodings
from tests.support.modules import emit, module

AVX2 = tvm.target.Target({"kind": "llvm", "mcpu": "haswell"})
TYPE = relax.TensorType((1, 4, 4, 8), "int8")
KERNEL = relax.const(np.ones((8, 1, 1, 8), np.int8))
TABLE = relax.const(np.arange(-128, 128).astype(np.int8))
Body = Callable[..., Any]


def conv(x: relax.Expr, **changes: Any) -> relax.Call:
    attrs = encodings(
        input=(0.5, 0),
        kernel=(0.5, 0),
        output=(2.0, 0),
        out_dtype="int8",
        data_layout="NHWC",
        kernel_layout="OHWI",
    )
    return quantized_conv2d(x, KERNEL, **{**attrs, **changes})


def add(lhs: relax.Expr, rhs: relax.Expr) -> relax.Call:
    return quantized_add(lhs, rhs, 2.0, 0, 3.0, 1, 3.5, 2, "int8")


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """Return the calls that a rule was asked about, which takes every sum: names of their data."""
    found: list[tuple[str, str]] = []

    def rule(_builder: Any, call: relax.Call, producer: relax.Call, other: relax.Expr) -> Any:
        operator = operator_of(call)
        assert operator is not None
        found.append((operator.name, producer.args[0].name))
        return relax.op.add(producer.args[0], other)

    rows = [(quantized_conv2d, ("avx512fp16",), fail), (quantized_conv2d, (), rule)]
    table: Fusions[Any] = Fusions(rows)
    monkeypatch.setattr(fuse_sums, "SUMS", table)
    return found


def fail(*_: Any) -> Any:
    pytest.fail("the target does not have its features")


def changed(body: Body, expected: Body) -> None:
    inputs = {"x": TYPE, "z": TYPE}
    # What is fused has the names of both operators, for one value.
    without_aliases = relax.transform.CanonicalizeBindings()
    after, wanted = FuseSums(AVX2)(module(inputs, body)), module(inputs, expected)
    tvm.ir.assert_structural_equal(without_aliases(after), without_aliases(wanted))


def test_a_sum_and_the_convolution_before_it_become_one(asked: list[Any]) -> None:
    changed(lambda x, z: add(conv(x), z), lambda x, z: relax.op.add(x, z))
    changed(lambda x, z: add(z, conv(x)), lambda x, z: relax.op.add(x, z))
    assert asked == [("quantized_add", "x")] * 2


def test_a_difference_likewise(asked: list[Any]) -> None:
    def body(x: relax.Expr, z: relax.Expr) -> relax.Expr:
        return quantized_subtract(conv(x), z, 2.0, 0, 3.0, 1, 3.5, 2, "int8")

    changed(body, lambda x, z: relax.op.add(x, z))
    assert asked == [("quantized_subtract", "x")]


def test_of_two_convolutions_the_last_one_adds(asked: list[Any]) -> None:
    def body(x: relax.Expr, z: relax.Expr) -> relax.Expr:
        first, last = emit(conv(x)), emit(conv(z))
        return add(last, first)

    FuseSums(AVX2)(module({"x": TYPE, "z": TYPE}, body))
    assert asked == [("quantized_add", "z")]


@pytest.mark.parametrize(
    "body",
    [
        lambda x, z: _read_twice(x, z),
        lambda x, z: add(quantized_lookup(x, TABLE), z),
        lambda x, z: add(x, z),
    ],
    ids=["read twice", "no convolution", "parameters"],
)
def test_what_stays(body: Body, asked: list[Any]) -> None:
    before = module({"x": TYPE, "z": TYPE}, body)
    tvm.ir.assert_structural_equal(FuseSums(AVX2)(before), before)
    assert asked == []


def _read_twice(x: relax.Expr, z: relax.Expr) -> list[relax.Expr]:
    builder = relax.BlockBuilder.current()
    y = builder.emit(conv(x))
    return [add(y, z), y]


def test_targets_without_a_kernel_change_nothing() -> None:
    before = module({"x": TYPE, "z": TYPE}, lambda x, z: add(conv(x), z))
    target = tvm.target.Target({"kind": "llvm", "mcpu": "x86-64"})
    tvm.ir.assert_structural_equal(FuseSums(target)(before), before)
