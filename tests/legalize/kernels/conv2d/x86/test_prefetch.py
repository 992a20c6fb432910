import re

import pytest
from tvm.script.ir_builder import IRBuilder
from tvm.script.ir_builder import tirx as T

from legalize.kernels.conv2d.x86.prefetch import fetch_ahead, lines_of, share_of

_END = 3 * 64


def requests(dtype: str, size: int, steps: int, turns: int) -> list[int]:
    """Return the offsets that loops of known numbers prefetch."""
    share = share_of(size, steps, turns)
    with IRBuilder() as builder, T.prim_func(s_tir=True):
        weights = T.arg("weights", T.buffer((1,), dtype))
        for turn in range(turns):
            fetch = fetch_ahead(weights, _END, share, lines_of(share, dtype), steps, turn)
            for step in range(steps):
                fetch(step)
    return [int(place) for place in re.findall(r"weights\[(\d+)\]", builder.get().script())]


@pytest.mark.parametrize(("dtype", "line"), [("int8", 64), ("int16", 32)])
@pytest.mark.parametrize("turns", [1, 2, 3, 10, 40])
@pytest.mark.parametrize(("size", "steps"), [(12 * 256, 12), (7 * 192, 3)])
def test_all_turns_together_ask_for_what_follows(
    dtype: str, line: int, turns: int, size: int, steps: int
) -> None:
    places = requests(dtype, size, steps, turns)
    asked = {place // line for place in places}
    assert places[0] == _END
    # No cache line is left out,
    assert asked >= set(range(_END // line, (_END + size) // line))
    # little is asked for beyond,
    assert max(places) < _END + size + turns * steps
    # and no more often than there are steps and lines.
    assert len(places) <= turns * steps + size // line


def test_a_number_of_lines_that_code_reads_is_a_loop() -> None:
    with IRBuilder() as builder, T.prim_func(s_tir=True):
        weights = T.arg("weights", T.buffer((1,), "int8"))
        lines = T.arg("lines", T.int32())
        fetch_ahead(weights, _END, 200, lines, steps=3, turn=0)(2)
    text = builder.get().script()
    assert re.search(r"for (\w+) in range\(lines\):\n.*weights\[592 \+ \1 \* 64\]", text), text
