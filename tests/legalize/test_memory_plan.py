import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from legalize.call_plan import Call, Input, Output, Plan, Temporary
from legalize.memory_plan import ALIGNMENT, lay_out, lay_out_over, pack


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


def test_an_output_lies_over_the_input_that_its_call_reads_last() -> None:
    leads = {"f": {(0, 1): 8}}
    layout = lay_out_over(chain([640, 640, 640]), 4, leads)
    assert layout.size == 640 + 2 * 8
    assert layout.offsets == (16, 8, 0)
    # Over one that is read again it does not.
    calls = [*chain([64, 64]).calls, Call("g", (Temporary(0), Temporary(1), Output(0)))]
    assert lay_out_over(Plan(tuple(calls), (), (64, 64)), 4, leads).size == 128


def test_an_input_that_is_read_twice_needs_both_leads() -> None:
    calls = Call("g", (Input(0), Temporary(0))), Call("f", (Temporary(0),) * 2 + (Temporary(1),))
    plan = Plan(calls, (), (64, 64))
    sizes = [
        lay_out_over(plan, 4, {"f": leads}).size
        for leads in ({(0, 2): 0}, {(0, 2): 0, (1, 2): 12}, {(0, 2): 0, (1, 2): 99})
    ]
    assert sizes == [128, 76, 128]


def test_a_negative_lead_lets_outputs_go_up_again() -> None:
    calls = [Call("f", (Input(0), Temporary(0)))]
    calls += [Call("fg"[i % 2], (Temporary(i), Temporary(i + 1))) for i in range(6)]
    leads = {"f": {(0, 1): 16}, "g": {(0, 1): -16}}
    assert lay_out_over(Plan(tuple(calls), (), (640,) * 7), 4, leads).size == 640 + 16


def test_parts_lie_in_their_whole() -> None:
    calls = (
        Call("f", (Input(0), Temporary(0))),
        Call("f", (Temporary(1), Temporary(2))),
        Call("f", (Temporary(2), Output(0))),
    )
    layout = lay_out(Plan(calls, (), (64, 16, 8), {1: (0, 48)}), 4)
    assert layout.offsets[1] == layout.offsets[0] + 48
    assert layout.size == 64 + 8


def strips(order: list[int]) -> Plan:
    """Quarters of a tensor become those of another, by way of a third one, in some order."""
    calls: list[Call] = []
    parts: dict[int, tuple[int, int]] = {}
    sizes = [64, 64]
    for quarter in order:
        source, between, target = range(len(sizes), len(sizes) + 3)
        sizes += [16, 16, 16]
        parts |= {source: (0, 16 * quarter), target: (1, 16 * quarter)}
        calls += [Call("f", (Temporary(source), Temporary(between)))]
        calls += [Call("f", (Temporary(between), Temporary(target)))]
    return Plan(tuple(calls), (), tuple(sizes), parts)


def test_a_whole_that_is_made_in_parts_lies_over_what_was_read() -> None:
    leads = {"f": {(0, 1): 0}}
    layout = lay_out_over(strips([0, 1, 2, 3]), 4, leads, given=[0], wanted=[1])
    assert layout.size == 64 + 16
    # The quarter that is written first would overlay data that is read later.
    layout = lay_out_over(strips([3, 2, 1, 0]), 4, leads, given=[0], wanted=[1])
    assert layout.size > 64 + 16
    # Nor may it be wherever something else writes the source.
    plan = strips([0, 1, 2, 3])
    written = Call("f", (Temporary(1), Temporary(0)))
    plan = Plan((*plan.calls[:2], written, *plan.calls[2:]), (), plan.temporaries, plan.parts)
    assert lay_out_over(plan, 4, leads, given=[0], wanted=[1]).size == 128


@settings(max_examples=20)
@given(st.permutations(range(4)), st.integers(-20, 20))
def test_no_byte_is_written_over_before_it_was_read(order: list[int], lead: int) -> None:
    plan = strips(order)
    layout = lay_out_over(plan, 4, {"f": {(0, 1): lead}}, given=[0], wanted=[1])
    spans = [
        [
            (layout.offsets[place.number], layout.offsets[place.number] + 16)
            for place in call.arguments
            if isinstance(place, Temporary)
        ]
        for call in plan.calls
    ]
    for step, (read, written) in enumerate(spans):
        is_beside = written[1] <= read[0] or read[1] <= written[0]
        assert is_beside or read[0] - written[0] >= lead
        # Neither the source, as long as it is read, nor the results before are written over.
        kept = [spans[later][0] for later in range(step + 1, len(spans)) if later % 2 == 0]
        kept += [spans[before][1] for before in range(1, step, 2)]
        assert all(written[1] <= other[0] or other[1] <= written[0] for other in kept)


def test_what_is_given_and_what_is_wanted_keep_their_places() -> None:
    plan = chain([64, 64, 64])
    assert lay_out_over(plan, 4, {}).size == 128
    assert lay_out_over(plan, 4, {}, given=[2]).size == 192
    assert lay_out_over(plan, 4, {}, wanted=[0]).size == 192


@given(
    st.lists(st.integers(1, 300), min_size=1, max_size=8),
    st.lists(st.integers(-300, 300), min_size=8, max_size=8),
)
def test_no_output_is_nearer_to_its_input_than_it_may_be(
    sizes: list[int], least: list[int]
) -> None:
    calls = [Call("f0", (Input(0), Temporary(0)))]
    calls += [Call(f"f{i}", (Temporary(i - 1), Temporary(i))) for i in range(1, len(sizes))]
    leads = {f"f{i}": {(0, 1): lead} for i, lead in enumerate(least)}
    layout = lay_out_over(Plan(tuple(calls), (), tuple(sizes)), 4, leads)
    assert layout.size <= lay_out(Plan(tuple(calls), (), tuple(sizes)), 4).size
    for i in range(1, len(sizes)):
        source, target = layout.offsets[i - 1 : i + 1]
        is_beside = target + sizes[i] <= source or source + sizes[i - 1] <= target
        assert is_beside or source - target >= least[i]
        assert target % 4 == 0
        assert target + sizes[i] <= layout.size


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
    block, offsets = pack([])
    assert (block.size, offsets) == (0, ())
