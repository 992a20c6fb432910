"""Measures the processor's peaks in products of 8-bit integers."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import tvm
from tvm.script.ir_builder import tirx as T

from legalize.kernels.ir.vectors import get_lanes, local_vector, set_lanes
from legalize.kernels.isa import amx
from legalize.kernels.isa.targets import has_feature
from legalize.kernels.isa.x86_instructions import dot_bytes
from legalize.written import new_function
from tvm_qnn.timing import Timing

VECTORS, TILES = "vpdpbusd", "tdpbusd"
"""The instructions whose peaks are measured: on vectors, and on AMX's tiles."""

# So many sums hide the latency of an addition, and leave registers for the factors.
_SUMS = 20
_TILE_SUMS = 4
_ROUNDS = 100_000
_TRIES = 5
_WIDTHS = {"avx512vnni": 16, "avxvnni": 8}
_OPERATIONS_PER_LANE = 8  # four products, four additions
_TILE_LANES = amx.ROWS * amx.ROW_BYTES // 4
_OPERATIONS_PER_TILE = 2 * _TILE_LANES * amx.ROW_BYTES


def measure_peaks(target: tvm.target.Target) -> dict[str, float]:
    """Measure operations per second of each instruction on this core, with its widest registers.

    Measure peaks next to the times that they are compared with: other programs change the clock.

    Args:
        target: the target; this machine must be able to run its code.

    Returns:
        The fastest of a few tries, by the instruction's name. A product and an addition are two
        operations. Instructions that the target lacks are left out.
    """
    peaks = {}
    lanes = next((n for name, n in _WIDTHS.items() if has_feature(target, name)), None)
    if lanes is not None:
        factors = [np.ones(4 * lanes, dtype) for dtype in ("uint8", "int8")]
        function = _compiled(str(target), _on_vectors, lanes)
        seconds = _fastest(function, *factors, np.zeros((_SUMS, lanes), np.int32))
        peaks[VECTORS] = _ROUNDS * _SUMS * lanes * _OPERATIONS_PER_LANE / seconds
    if has_feature(target, "amx-int8"):
        function = _compiled(str(target), _on_tiles, _ROUNDS)
        seconds = _fastest(function, *_tile_arguments())
        peaks[TILES] = _ROUNDS * _TILE_SUMS * _OPERATIONS_PER_TILE / seconds
    return peaks


def _fastest(function: Callable[..., object], *arrays: np.ndarray) -> float:
    tensors = [tvm.runtime.tensor(array) for array in arrays]
    return Timing.of(lambda: function(*tensors), _TRIES).minimum


@cache
def _compiled(target: str, write: Callable[[int], Any], size: int) -> Any:
    library = tvm.compile(write(size), target=tvm.target.Target(target))
    return library["peak"]


def _on_vectors(lanes: int) -> Any:
    with new_function("peak", noalias=False) as builder:
        unsigned = T.arg("unsigned", T.buffer((4 * lanes,), "uint8"))
        signed = T.arg("signed", T.buffer((4 * lanes,), "int8"))
        output = T.arg("output", T.buffer((_SUMS, lanes), "int32"))
        sums = [local_vector(lanes) for _ in range(_SUMS)]
        for vector in sums:
            set_lanes(vector, T.broadcast(T.int32(0), lanes), lanes)
        factors = T.ramp(0, 1, 4 * lanes)
        with T.serial(_ROUNDS):
            for vector in sums:
                value = dot_bytes(
                    get_lanes(vector, lanes), unsigned[factors], signed[factors], lanes
                )
                set_lanes(vector, value, lanes)
        for index, vector in enumerate(sums):
            T.buffer_store(output, get_lanes(vector, lanes), [index, T.ramp(0, 1, lanes)])
    return builder.get()


def _tile_arguments() -> list[np.ndarray]:
    """Return the configuration of eight full tiles, a tile of ones, and the sums."""
    configuration = amx.configuration([(amx.ROWS, amx.ROW_BYTES)] * 8)
    ones = np.ones(amx.ROWS * amx.ROW_BYTES, np.uint8)
    return [configuration, ones, np.zeros(_TILE_SUMS * _TILE_LANES, np.int32)]


def _on_tiles(rounds: int) -> Any:
    """Multiply two tiles of data by two of weights, as the convolutions' kernels do."""
    configuration_size, tile_size, sums_size = (array.size for array in _tile_arguments())
    data, weights = (4, 5), (6, 7)
    with new_function("peak", noalias=False) as builder:
        configuration = T.arg("configuration", T.buffer((configuration_size,), "uint8"))
        ones = T.arg("ones", T.buffer((tile_size,), "uint8"))
        output = T.arg("output", T.buffer((sums_size,), "int32"))
        amx.request_permission()
        amx.configure(configuration)
        for tile in (*data, *weights):
            amx.load(tile, ones, 0, amx.ROW_BYTES)
        for tile in range(_TILE_SUMS):
            amx.clear(tile)
        with T.serial(rounds):
            for tile in range(_TILE_SUMS):
                amx.multiply_add(tile, data[tile // 2], weights[tile % 2])
        for tile in range(_TILE_SUMS):
            amx.store(tile, output, tile * _TILE_LANES, amx.ROW_BYTES)
        amx.release()
    return builder.get()
