from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
import tvm
from tvm import relax

from legalize.kernels.conv2d.x86.fusions import with_border
from legalize.kernels.isa.x86 import AVX2
from legalize.kernels.kernel import Fusions
from legalize.passes import pad_in_place
from legalize.passes.pad_in_place import PadInPlace
from qnn_ops import quantized_concat, quantized_conv2d, quantized_lookup
from qnn_ops.dialect.registry import attrs_of, operator_of
from tests.support.arrays import full_range
from tests.support.encodings import encodings
from tests.support.modules import calls_of, emit, module
from tests.support.x86 import PROCESSORS, host_has
from tvm_qnn import build

Body = Callable[..., Any]

VNNI = tvm.target.Target({"kind": "llvm", "mcpu": "cascadelake"})
RNG = np.random.default_rng(0)
X = full_range(RNG, "uint8", (2, 6, 7, 16))
ATTRS = encodings(
    input=(0.5, 90),
    kernel=(0.0078125, 0),
    output=(4.0, 90),
    out_dtype="uint8",
    data_layout="NHWC",
    kernel_layout="OHWI",
)
KERNELS = {
    (channels, size): full_range(RNG, "int8", (channels, size, size, 16))
    for channels, size in ((8, 1), (16, 1), (16, 3), (40, 3))
}
DEPTHWISE = full_range(RNG, "int8", (16, 3, 3, 1))


def conv(x: relax.Expr, channels: int, size: int, **changes: Any) -> relax.Expr:
    kernel = KERNELS[channels, size]
    return emit(quantized_conv2d(x, relax.const(kernel), **{**ATTRS, **changes}))


def before(body: Body) -> tvm.IRModule:
    return module({"x": relax.TensorType(X.shape, "uint8")}, body)


def calls(mod: tvm.IRModule) -> list[Any]:
    """Return the kernels with the shapes of their results, and the padding of remaining calls."""
    return [
        attrs_of(call).padding if operator_of(call) else [int(size) for size in call.ty.shape]
        for call in calls_of(mod)
    ]


def test_the_padding_is_written_by_who_makes_the_data() -> None:
    def body(x: relax.Expr) -> relax.Expr:
        return conv(conv(x, 16, 1), 40, 3, padding=(1, 0, 2, 3))

    mod = PadInPlace(VNNI)(before(body))
    assert calls(mod) == [[2, 9, 10, 16], (0, 0, 0, 0)]
    assert mod["main"].ret_ty == before(body)["main"].ret_ty


def test_a_chain_of_padded_convolutions() -> None:
    def body(x: relax.Expr) -> relax.Expr:
        return conv(conv(conv(x, 16, 1), 16, 3, padding=1), 40, 3, padding=1)

    assert calls(PadInPlace(VNNI)(before(body))) == [[2, 8, 9, 16], [2, 8, 9, 16], (0, 0, 0, 0)]


def _depthwise(x: relax.Expr) -> relax.Expr:
    return emit(quantized_conv2d(x, relax.const(DEPTHWISE), groups=16, padding=1, **ATTRS))


def _read_twice(y: relax.Expr) -> list[relax.Expr]:
    return [conv(y, 40, 3, padding=1), y]


@pytest.mark.parametrize(
    "body",
    [
        lambda x: conv(x, 40, 3, padding=1),
        lambda x: conv(conv(x, 16, 1), 40, 3),
        lambda x: _read_twice(conv(x, 16, 1)),
        lambda x: _depthwise(conv(x, 16, 1)),
        lambda x: conv(conv(x, 16, 1, out_dtype="int8", output_zero_point=0), 16, 1, padding=1),
        lambda x: conv(emit(relax.op.maximum(x, x)), 16, 3, padding=1),
        lambda x: conv(_joined(x, axis=1), 16, 3, padding=1),
        lambda x: conv(conv(relax.const(X), 16, 1), 40, 3, padding=1),
    ],
    ids=[
        "a parameter",
        "no padding",
        "read twice",
        "depthwise",
        "int8",
        "no operator of the dialect",
        "joined along rows",
        "constants",
    ],
)
def test_what_stays(body: Body) -> None:
    mod = before(body)
    tvm.ir.assert_structural_equal(PadInPlace(VNNI)(mod), mod)


def _looked_up(x: relax.Expr) -> relax.Expr:
    return emit(quantized_lookup(x, relax.const(np.arange(256, dtype=np.uint8)[::-1].copy())))


def _joined(x: relax.Expr, axis: int = 3) -> relax.Expr:
    return emit(quantized_concat([x, x], [0.5] * 2, [90] * 2, 0.5, 90, "uint8", axis=axis))


@pytest.mark.parametrize(
    ("body", "channels"),
    [
        (lambda x: conv(_looked_up(x), 16, 3, padding=(1, 0, 2, 3)), 16),
        (lambda x: conv(_joined(conv(x, 8, 1)), 16, 3, padding=(1, 0, 2, 3)), 16),
    ],
    ids=["lookup", "concat"],
)
def test_tables_and_concatenations_write_the_padding(body: Body, channels: int) -> None:
    found = calls(PadInPlace(VNNI)(before(body)))
    assert found[-2:] == [[2, 9, 10, channels], (0, 0, 0, 0)]


def test_where_staging_widens_the_data_it_pads_it_too() -> None:
    mod = before(lambda x: conv(conv(x, 16, 1), 40, 3, padding=1))
    for mcpu in ("haswell", "skylake-avx512", "nehalem", "x86-64"):
        target = tvm.target.Target({"kind": "llvm", "mcpu": mcpu})
        tvm.ir.assert_structural_equal(PadInPlace(target)(mod), mod)


@pytest.mark.skipif(not host_has(*PROCESSORS[AVX2][1]), reason="the processor has no AVX2")
@pytest.mark.parametrize("disabled", [[], ["OneFunction"]])
def test_results_stay(monkeypatch: pytest.MonkeyPatch, disabled: list[str]) -> None:
    """On any processor with AVX2, as if it were one with AVX512-VNNI."""

    def body(x: relax.Expr) -> relax.Expr:
        y = conv(conv(x, 16, 1), 16, 3, padding=(1, 0, 2, 3), out_min=90)
        return conv(y, 40, 3, padding=1)

    rows = [(quantized_conv2d, ("avx2",), partial(with_border, isa=AVX2))]
    table: Fusions[Any] = Fusions(rows)
    monkeypatch.setattr(pad_in_place, "BORDERS", table)
    target = {"kind": "llvm", "mcpu": PROCESSORS[AVX2][0]}
    with tvm.transform.PassContext(opt_level=2, disabled_pass=disabled):
        library = build(before(body), target)
    y = quantized_conv2d.evaluate(X, KERNELS[16, 1], **ATTRS)
    y = quantized_conv2d.evaluate(y, KERNELS[16, 3], **ATTRS, padding=(1, 0, 2, 3), out_min=90)
    expected = quantized_conv2d.evaluate(y, KERNELS[40, 3], **ATTRS, padding=1)
    assert np.unique(expected).size > 50
    np.testing.assert_array_equal(library.run(X), expected)
