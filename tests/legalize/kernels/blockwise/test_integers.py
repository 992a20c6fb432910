"""Rows of data that become integers, block by block, and weights that are multiplied as bytes."""

from typing import Any

import numpy as np
import pytest
import tvm
from tvm_ffi import structural_walk

from legalize.kernels.blockwise.integers import multiplies_quads
from legalize.kernels.isa.base import VectorIsa
from legalize.kernels.isa.neon_vectors import VECTORS as NEON
from legalize.kernels.isa.x86_vectors import AVX2, AVX512_VNNI, SSE41
from qnn_ops import blockwise_dense
from tests.legalize.kernels.blockwise.test_rules import CONSTANTS, HASWELL
from tests.support.block_weights import exact_layer
from tests.support.kernels import Call, Place, check_calls, each_product, lowered

ICELAKE = {"kind": "llvm", "mcpu": "icelake-server"}


def layer(bits: int, size: int, count: int = 3) -> Call:
    """Return a layer of the largest weights and data: 127 steps each, of either sign."""
    depth, units = 2 * size, 60
    rows = np.ones((count, depth), np.float32)
    rows[1:2] = -1
    weights = np.full((units, depth * bits // 8), 255, np.uint8)
    scales = np.arange(1, 2 * units + 1, dtype=np.float32).reshape(units, 2)
    points = np.zeros((units, 2), np.float32)
    points[0] = 1
    attrs: dict[str, Any] = {"bits": bits, "block_size": size, "quantizes_data": True}
    return Call(blockwise_dense, [rows * 127, weights, scales, points], attrs)


@each_product
def test_largest_sums_are_the_references(place: Place) -> None:
    calls = [layer(bits, size) for bits in (2, 4, 8) for size in (16, 32, 64, 48)]
    calls += [layer(bits, 32, 1) for bits in (2, 4, 8)]
    check_calls(place, calls, CONSTANTS)


@pytest.mark.parametrize(
    ("isa", "served"),
    [(AVX512_VNNI, (2, 4, 8)), (AVX2, (2, 4)), (SSE41, (2, 4)), (NEON[0], ())],
    ids=lambda each: each.name if isinstance(each, VectorIsa) else "",
)
def test_weights_that_instructions_multiply(isa: VectorIsa, served: tuple[int, ...]) -> None:
    assert tuple(bits for bits in (2, 4, 8) if multiplies_quads(isa, bits)) == served


@pytest.mark.parametrize(
    ("target", "bits", "name"),
    [
        (HASWELL, 4, "avx2.pmadd.ub.sw"),
        (HASWELL, 8, "avx2.pmadd.wd"),
        (ICELAKE, 4, "avx512.vpdpbusd.512"),
        (ICELAKE, 8, "avx512.vpdpbusd.512"),
    ],
)
def test_instructions(target: dict[str, str], bits: int, name: str) -> None:
    attrs: dict[str, Any] = {"bits": bits, "block_size": 32, "quantizes_data": True}
    operands = exact_layer((4, 64, 32, bits, 32), "bytes")
    mod = lowered(Call(blockwise_dense, operands, attrs), target, CONSTANTS)
    assert _has(mod, name)


def _has(mod: Any, name: str) -> bool:
    """Tell whether a function of a module has an instruction of LLVM's."""
    found: list[Any] = []
    wanted = tvm.target.codegen.llvm_lookup_intrinsic_id(f"llvm.x86.{name}")

    def visit(call: Any) -> None:
        if call.op.name == "tirx.call_llvm_pure_intrin" and call.args[0].value == wanted:
            found.append(call)

    for function in mod.functions.values():
        if isinstance(function, tvm.tirx.PrimFunc):
            structural_walk(function.body, (tvm.ir.Call, visit))
    return bool(found)
