"""Functions of floats are computed of several vectors at a time."""

import numpy as np
import pytest
import tvm
from tvm import relax, tirx
from tvm.relax import op as R
from tvm_ffi import structural_walk

from legalize import lower
from legalize.passes.interleave_vectors import InterleaveVectors
from legalize.pipeline import calls_pipeline
from qnn_ops import float_function
from tests.support.modules import module
from tvm_qnn import build

TARGET = tvm.target.Target({"kind": "llvm", "mcpu": "znver4"})
LANES = 16


def fused(shape: tuple[int, ...], *, is_moved: bool = False, steps: str = "erf") -> tvm.IRModule:
    """Return a module of one function of TIR."""

    def body(x: relax.Expr) -> relax.Expr:
        found = float_function(x, steps) if steps else R.sqrt(x)
        return R.permute_dims(found) if is_moved else found

    return module({"x": relax.TensorType(shape, "float32")}, body)


def loops(mod: tvm.IRModule, *, is_interleaved: bool = True) -> list[tuple[bool, int]]:
    """Return for each loop of the module's function whether it is a vector, and its extent."""
    disabled = [] if is_interleaved else ["InterleaveVectors"]
    with TARGET, tvm.transform.PassContext(disabled_pass=disabled):
        mod = calls_pipeline(TARGET)(lower(mod, TARGET))
    (function,) = (each for each in mod.functions.values() if isinstance(each, tirx.PrimFunc))
    found: list[tuple[bool, int]] = []

    def visit(loop: tirx.For) -> None:
        found.append((loop.kind == tirx.ForKind.VECTORIZED, int(loop.extent)))

    structural_walk(function.body, (tirx.For, visit))
    return sorted(found)


@pytest.mark.parametrize(("columns", "size"), [(512, 8), (80, 5), (96, 6), (7 * 32, 7)])
def test_as_many_vectors_as_divide_a_row(columns: int, size: int) -> None:
    assert (True, size * LANES) in loops(fused((3, columns)))


@pytest.mark.parametrize(
    "mod",
    [fused((3, 17)), fused((16,)), fused((16, 64), is_moved=True), fused((3, 64), steps="")],
    ids=["ragged", "one vector", "columns", "no polynomial"],
)
def test_other_loops_are_left(mod: tvm.IRModule) -> None:
    assert loops(mod) == loops(mod, is_interleaved=False)


def test_without_vectors_nothing_changes() -> None:
    mod = tvm.IRModule({})
    tvm.ir.assert_structural_equal(InterleaveVectors(tvm.target.Target("llvm"))(mod), mod)


def test_results_are_the_same() -> None:
    mod = fused((3, 128))
    data = np.random.default_rng(1).normal(0, 2, (3, 128)).astype(np.float32)
    with tvm.transform.PassContext(disabled_pass=["InterleaveVectors"]):
        plain = build(mod, "host", num_threads=1).run(data)
    np.testing.assert_array_equal(build(mod, "host", num_threads=1).run(data), plain)
