"""The processor's peak in products of 8-bit integers, measured."""

from __future__ import annotations

import time
from functools import cache
from typing import Any

import numpy as np
import tvm
from tvm.script.ir_builder import IRBuilder
from tvm.script.ir_builder import tirx as T

from legalize.kernels.ir.registers import lanes_of, local_vector, set_lanes
from legalize.kernels.isa.targets import has_feature
from legalize.kernels.isa.x86_instructions import dot_bytes

# As many sums as hide the latency of adding to one, with registers left for the factors.
_SUMS = 20
_ROUNDS = 100_000
_TRIES = 5
_WIDTHS = {"avx512vnni": 16, "avxvnni": 8}
_OPERATIONS_PER_LANE = 8  # four products, four additions


def measure_peak(target: tvm.target.Target) -> float | None:
    """Operations per second of ``vpdpbusd`` from registers on this core, at its widest.

    Measure it beside what it is compared with: the clock depends on what else runs.

    Args:
        target: code for it must be able to run here.

    Returns:
        The fastest of a few tries; a product and an addition are two operations. None if the
        target does not have the instruction.
    """
    lanes = next((n for name, n in _WIDTHS.items() if has_feature(target, name)), None)
    if lanes is None:
        return None
    function = _compiled(str(target), lanes)
    factors = [tvm.runtime.tensor(np.ones(4 * lanes, dtype)) for dtype in ("uint8", "int8")]
    sums = tvm.runtime.tensor(np.zeros((_SUMS, lanes), np.int32))
    seconds = []
    for _ in range(_TRIES):
        start = time.perf_counter()
        function(*factors, sums)
        seconds.append(time.perf_counter() - start)
    return _ROUNDS * _SUMS * lanes * _OPERATIONS_PER_LANE / min(seconds)


@cache
def _compiled(target: str, lanes: int) -> Any:
    library = tvm.compile(_function(lanes), target=tvm.target.Target(target))
    return library["peak"]


def _function(lanes: int) -> Any:
    with IRBuilder() as builder, T.prim_func(s_tir=True):
        T.func_name("peak")
        T.func_attr({"global_symbol": "peak"})
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
                    lanes_of(vector, lanes), unsigned[factors], signed[factors], lanes
                )
                set_lanes(vector, value, lanes)
        for index, vector in enumerate(sums):
            T.buffer_store(output, lanes_of(vector, lanes), [index, T.ramp(0, 1, lanes)])
    return builder.get()
