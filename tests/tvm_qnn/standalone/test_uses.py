import numpy as np

from tvm_qnn.standalone.uses import Uses


def read(*starts: int) -> Uses:
    return Uses(reads={0: np.array(starts)})


def written(*ends: int) -> Uses:
    return Uses(writes={1: np.array(ends)})


def test_gaps_are_left_behind_writes_in_loops_too() -> None:
    assert written(8).then(read(2)).gap(0, 1).tolist() == [6]
    assert (read(2).then(written(8)).gap(0, 1) < -(1 << 40)).all()
    assert read(0).then(written(6)).in_any_order().gap(0, 1).tolist() == [6]
    uses = written(8, 8).where(np.array([True, False])).then(read(2, 2))
    run, left = uses.gap(0, 1).tolist()
    assert run == 6
    assert left < -(1 << 40)
    # Each iteration reads a byte and writes two: the last reads byte 2 after 4 written bytes.
    turn = read(0, 1, 2).then(written(2, 4, 6))
    whole = turn.repeated(outer=1, turns=3)
    assert whole.gap(0, 1).tolist() == [2]
    assert whole.reads[0].tolist() == [0]
    assert whole.writes[1].tolist() == [6]
