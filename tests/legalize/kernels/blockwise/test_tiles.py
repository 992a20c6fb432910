from itertools import groupby
from typing import Any

import numpy as np
import pytest

from legalize.kernels.blockwise.integers import adjacent_units, integer_rows
from legalize.kernels.blockwise.spec import Blockwise, one_point
from legalize.kernels.blockwise.tiles import is_served, tile_rows
from legalize.kernels.isa.x86_vectors import AVX512_VNNI
from qnn_ops.quantized.blockwise_dense import middle_of
from tests.legalize.kernels.blockwise.test_rules import CONSTANTS, call
from tests.legalize.kernels.conv2d.x86.amx.test_kernel import SAPPHIRE_RAPIDS, instructions
from tests.support.block_weights import Shape, exact_layer
from tests.support.kernels import lowered
from tests.support.tiles import use_soft_tiles
from tests.support.x86 import host_has, needs_native_vnni, run_on

AMX = {"kind": "llvm", "mcpu": SAPPHIRE_RAPIDS}

# Blocks of one, two, three and more; of less than a tile, one and several; tiles that overlap and
# that have fewer rows; groups of four vectors of units, and units that fill none.
SHAPES: list[tuple[Shape, str]] = [
    ((16, 128, 64, 4, 32), "none"),
    ((37, 96, 83, 4, 32), "bytes"),
    ((9, 64, 40, 2, 16), "one"),
    ((20, 256, 33, 4, 128), "none"),
    ((16, 64, 48, 8, 64), "none"),
    ((33, 240, 128, 8, 48), "none"),
    ((16, 96, 16, 8, 32), "one"),
    ((64, 160, 64, 2, 32), "bytes"),
]


def layer(shape: Shape, points: str) -> tuple[Blockwise, list[Any]]:
    """Return a layer of random data and scales, and the arguments of its function."""
    bits, rng = shape[3], np.random.default_rng(5)
    data, weights, scales, zeros = exact_layer(shape, points)
    zeros = [] if zeros is None else [zeros]
    one = one_point(zeros, middle_of(bits))
    spec = Blockwise(
        *shape,
        points="uint8" if one is None else "",
        middle=one or 0.0,
        has_quads=True,
        most_adjacent=adjacent_units(AVX512_VNNI, bits),
    )
    data, scales = (rng.normal(size=array.shape).astype(np.float32) for array in (data, scales))
    return spec, [data, *spec.packed(weights, scales, *zeros)]


def check(mcpu: str) -> None:
    """Assert that tiles give the bits of vectors, whose sums have the same order."""
    for shape, points in SHAPES:
        spec, arguments = layer(shape, points)
        result = spec.rows, spec.units
        expected = run_on(
            "cascadelake", integer_rows(AVX512_VNNI, spec), arguments, result, "float32"
        )
        # The cache must not keep functions with emulated tiles.
        found = run_on(mcpu, tile_rows.__wrapped__(spec), arguments, result, "float32")
        np.testing.assert_array_equal(found.view(np.int32), expected.view(np.int32), str(shape))


@needs_native_vnni
def test_emulated_tiles_give_the_bits_of_vectors(monkeypatch: pytest.MonkeyPatch) -> None:
    use_soft_tiles(monkeypatch)
    check("cascadelake")


@pytest.mark.skipif(not host_has("amx_int8", "amx_tile"), reason="the processor has no AMX")
def test_tiles_give_the_bits_of_vectors() -> None:
    check(SAPPHIRE_RAPIDS)


@pytest.mark.parametrize(
    ("shape", "points", "product"),
    [
        ((256, 128, 64, 4, 32), "bytes", "tdpbssd"),
        ((256, 128, 64, 8, 32), "none", "tdpbsud"),
        ((256, 128, 64, 8, 32), "bytes", None),  # a difference of bytes need not fit a byte
        ((2, 128, 64, 4, 32), "none", None),
        ((16, 32, 16, 4, 32), "none", None),  # less time than a configuration of tiles
    ],
)
def test_tiles_are_chosen_where_they_are_faster(
    shape: Shape, points: str, product: str | None
) -> None:
    text = lowered(call(shape, points, quantizes_data=True), AMX, CONSTANTS).script()
    assert ("llvm.x86.tdpb" in text) == (product is not None)
    assert product is None or f"llvm.x86.{product}" in text


@pytest.mark.parametrize(
    ("bits", "ends", "served"),
    [
        (4, (0, 15), True),
        (4, (128, 128), True),
        (4, (0, 129), False),
        (4, (-1, 8), False),
        (8, (128, 128), True),
        (8, (0, 1), False),
        (8, (-1, -1), False),
    ],
)
def test_zero_points_fit_bytes(bits: int, ends: tuple[float, float], served: bool) -> None:
    spec = Blockwise(256, 128, 64, bits, 32, points="", middle=ends[0], has_quads=True)
    assert is_served(spec, ends) == served


def test_processors_without_tiles_have_vectors() -> None:
    layer = call((256, 128, 64, 4, 32), "none", quantizes_data=True)
    text = lowered(layer, {"kind": "llvm", "mcpu": "icelake-server"}, CONSTANTS).script()
    assert "vpdpbusd" in text
    assert "tdpb" not in text


def test_products_lie_between_sums() -> None:
    spec, _ = layer((16, 256, 16, 4, 32), "none")
    names = [name[:4] for name in instructions(tile_rows(spec))]
    order = [name for name, _ in groupby(name for name in names if name in ("tdpb", "vfma"))]
    assert order == ["tdpb", "vfma", "tdpb", "vfma"]
