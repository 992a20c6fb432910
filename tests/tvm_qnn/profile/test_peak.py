from typing import Any

import numpy as np
import pytest
import tvm

from legalize.kernels.isa.targets import has_feature
from tests.support.tiles import use_soft_tiles
from tvm_qnn.profile.peak import (
    TILES,
    VECTORS,
    _fastest,
    _on_tiles,
    _on_vectors,
    _tile_arguments,
    measure_peaks,
)
from tvm_qnn.target.target import host_target, parse_target


@pytest.mark.skipif(
    not has_feature(host_target(), "avx512vnni"), reason="the processor has no AVX512-VNNI"
)
def test_this_processor_s_peaks() -> None:
    peaks = measure_peaks(host_target())
    # From one 256-bit instruction a cycle at 1 GHz to four 512-bit ones at 8 GHz.
    assert 64e9 < peaks[VECTORS] < 4096e9
    assert (TILES in peaks) == has_feature(host_target(), "amx-int8")
    assert peaks.get(TILES, 1e99) > 2 * peaks[VECTORS]


def test_a_target_without_the_instructions_has_no_peak() -> None:
    assert measure_peaks(parse_target("llvm -mcpu=x86-64-v3")) == {}


@pytest.mark.parametrize(
    ("function", "name", "count"), [(_on_tiles(100), TILES, 4), (_on_vectors(16), VECTORS, 20)]
)
def test_the_products_are_of_registers(function: Any, name: str, count: int) -> None:
    target = tvm.target.Target({"kind": "llvm", "mcpu": "sapphirerapids"})
    lines = tvm.compile(function, target=target).mod.inspect_source("asm").splitlines()
    places = [place for place, line in enumerate(lines) if name in line]
    assert len(places) % count == 0 < len(places)
    words = [line.split()[0] for line in lines[places[0] : places[-1]] if line.strip()]
    between = [word for word in words if not word.startswith(".")]
    # Nothing else but the loop's own.
    assert len(between) <= len(places) + 3
    assert "tileloadd" not in between


def test_tiles_are_multiplied_as_often_as_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    use_soft_tiles(monkeypatch)
    function = tvm.compile(_on_tiles(3), target="llvm")["peak"]
    arrays = _tile_arguments()
    tensors = [tvm.runtime.tensor(array) for array in arrays]
    function(*tensors)
    # Each product of a round adds 64 times 1 to each sum of its tile.
    np.testing.assert_array_equal(tensors[-1].numpy(), np.full(4 * 256, 3 * 64))
    assert _fastest(function, *arrays) > 0
