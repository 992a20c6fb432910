import time

import pytest

from qnn_ops.dialect.tensor_info import TensorInfo
from qnn_ops.errors import QnnError
from tvm_qnn.throughput import rates
from tvm_qnn.throughput.rates import Streams, in_turn, with_batch


class Counted(Streams):
    """A program of a known rate."""

    def __init__(self, name: str, log: list[str]) -> None:
        self.name = name
        self.log = log

    def runs_per_second(self, seconds: float) -> float:
        self.log.append(self.name)
        return float(len(self.log))

    def close(self) -> None:
        pass


def test_programs_run_in_turn_until_the_time_is_up() -> None:
    log: list[str] = []
    found = in_turn({name: Counted(name, log) for name in "ab"}, 10, rounds=4)
    assert "".join(log) == "ab" + 4 * "ab"
    assert found == {"a": [30, 50, 70, 90], "b": [40, 60, 80, 100]}
    found = in_turn({"a": Counted("a", [])}, 1, rounds=100, seconds=0)
    assert len(found["a"]) == 3
    assert 5 < rates.rate(lambda: time.sleep(0.05), 0.12) <= 20
    assert rates.rate(lambda: time.sleep(0.01), 0) > 0
    infos = [TensorInfo("x", (1, 8, 8), "int8"), TensorInfo("y", (1,), "uint8")]
    assert [info.shape for info in with_batch(infos, 5)] == [(5, 8, 8), (5,)]
    assert with_batch([TensorInfo("x", (), "int8")], 1)[0].shape == ()


@pytest.mark.parametrize("shape", [(2, 8), ()])
def test_a_batch_of_batches_is_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(QnnError, match=r"input 'x' of shape .* does not take single images"):
        with_batch([TensorInfo("x", shape, "int8")], 2)
