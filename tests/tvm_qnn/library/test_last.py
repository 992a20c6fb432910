import pytest

from tvm_qnn.library.last import MOST, Last


def test_what_was_not_used_longest_makes_room() -> None:
    last = Last[int, str]()
    for key in range(MOST):
        last[key] = str(key)
    assert last.get(0) == last[0] == "0"
    last[MOST] = "new"
    assert [*last] == [*range(2, MOST), 0, MOST]
    assert last.get(1) is None
    with pytest.raises(KeyError):
        last[1]
