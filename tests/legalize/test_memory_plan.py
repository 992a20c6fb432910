from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from legalize.call_plan import Call, Input, Plan, Temporary
from legalize.memory_plan import ALIGNMENT, lay_out, pack


def chain(sizes: list[int]) -> Plan:
    """Each call reads the tensor before it and writes its own."""
    calls = [Call("f", (Input(0), Temporary(0)))]
    calls += [Call("f", (Temporary(i - 1), Temporary(i))) for i in range(1, len(sizes))]
    return Plan(tuple(calls), (), tuple(sizes))


def test_memory_is_used_again() -> None:
    layout = lay_out(chain([640, 64, 640, 64]))
    assert layout.size == 640 + 64
    assert layout.offsets == (0, 640, 0, 640)


def test_the_size_is_a_multiple_of_the_alignment_and_unused_tensors_take_none() -> None:
    assert lay_out(Plan((Call("f", (Temporary(1),)),), (), (1000, 65))).size == 128
    assert lay_out(Plan((), (), (1000,))).size == 0


def test_a_narrow_machine_wastes_no_bytes() -> None:
    layout = lay_out(chain([5, 6, 5]), alignment=4)
    assert (layout.offsets, layout.size) == ((8, 0, 8), 16)
    contents, offsets = pack([np.ones(5, np.int8), np.ones(1, np.int32)], alignment=4)
    assert (offsets, len(contents)) == ((0, 8), 12)


@given(
    st.lists(st.integers(1, 300), min_size=1, max_size=8).flatmap(
        lambda sizes: st.tuples(
            st.just(sizes),
            st.lists(st.lists(st.integers(0, len(sizes) - 1), min_size=1, max_size=3), max_size=10),
        )
    )
)
def test_no_two_tensors_that_live_together_overlap(plan: tuple[list[int], list[list[int]]]) -> None:
    sizes, uses = plan
    calls = tuple(Call("f", tuple(map(Temporary, numbers))) for numbers in uses)
    layout = lay_out(Plan(calls, (), tuple(sizes)))
    lives = {
        number: [step for step, numbers in enumerate(uses) if number in numbers]
        for number in {number for numbers in uses for number in numbers}
    }
    for a, steps in lives.items():
        assert layout.offsets[a] % ALIGNMENT == 0
        assert layout.offsets[a] + sizes[a] <= layout.size
        for b, others in lives.items():
            if a < b and steps[0] <= others[-1] and others[0] <= steps[-1]:
                ends_before = layout.offsets[a] + sizes[a] <= layout.offsets[b]
                assert ends_before or layout.offsets[b] + sizes[b] <= layout.offsets[a]


def test_constants_lie_at_aligned_offsets_with_all_their_bytes() -> None:
    arrays: list[np.ndarray] = [
        np.arange(5, dtype=np.int32),
        np.array(7, np.int8),
        np.arange(6, dtype=np.int16).reshape(2, 3).T,
        np.zeros(0, np.float32),
        np.full(ALIGNMENT, -1, np.int8),
    ]
    data, offsets = pack(arrays)
    assert [offset % ALIGNMENT for offset in offsets] == [0] * len(arrays)
    for array, offset in zip(arrays, offsets, strict=True):
        size = array.nbytes
        found = np.frombuffer(data[offset : offset + size], array.dtype).reshape(array.shape)
        np.testing.assert_array_equal(found, array)
    assert len(data) == offsets[-1] + ALIGNMENT


def test_no_constants_are_no_bytes() -> None:
    assert pack([]) == (b"", ())
