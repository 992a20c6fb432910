from __future__ import annotations

import re

import numpy as np
from tvm.script.ir_builder import IRBuilder
from tvm.script.ir_builder import tirx as T

from legalize.kernels.x86.prefetch import fetch_ahead


def requests(start: int, steps: int, size: int, turns: int) -> list[int]:
    """The places that loops of known numbers ask for."""
    with IRBuilder() as builder, T.prim_func(s_tir=True):
        weights = T.arg("weights", T.buffer((1,), "int16"))
        for turn in range(turns):
            fetch = fetch_ahead(weights, start, steps, size, turn, turns)
            for step in range(steps):
                fetch(step)
    return [int(place) for place in re.findall(r"weights\[(\d+)\]", builder.get().script())]


def test_all_turns_together_ask_for_what_follows() -> None:
    for turns in (1, 3, 10):
        places = np.array(requests(start=7, steps=12, size=32, turns=turns))
        first = 7 + 12 * 32
        assert places[0] == first
        gaps = np.diff(places)
        # No cache line, of 32 words, is left out, and little is asked for beyond.
        assert gaps.min() == gaps.max() == -(-32 // turns)
        assert first + 12 * 32 - 32 <= places[-1] <= first + 12 * (32 + turns)
