import pytest

from tvm_qnn.io.closing import Closing


class Door(Closing):
    is_closed = False

    def close(self) -> None:
        self.is_closed = True


def test_a_context_closes_its_object_whatever_happens() -> None:
    with Door() as door:
        assert not door.is_closed
    assert door.is_closed
    with pytest.raises(ValueError, match="draught"), Door() as other:
        raise ValueError("draught")
    assert other.is_closed
