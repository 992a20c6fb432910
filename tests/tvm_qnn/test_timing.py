import os
import sys
import time

import pytest

import tvm_qnn
from tvm_qnn.timing import LEAST_ROUNDS, Timing, alternate, milliseconds, one_core

VARIABLE = "TVM_NUM_THREADS"


def test_the_median_is_the_middle_and_near_the_fastest_if_it_is_quiet() -> None:
    timing = Timing((3.0, 1.0, 2.0, 100.0, 1.5))
    assert (timing.minimum, timing.median, timing.maximum) == (1.0, 2.0, 100.0)
    assert tvm_qnn.Timing is Timing
    assert Timing((1.0, 1.2, 9.0)).is_quiet
    assert not Timing((1.0, 1.3, 1.3)).is_quiet
    timing = Timing((0.003, 0.001, 0.002))
    figures = ["median 2 ms", "fastest 1 ms", "slowest 3 ms"]
    assert repr(timing) == "Timing of 3 runs: " + ", ".join(figures)
    html = timing._repr_html_()
    assert "<caption>Timing of 3 runs</caption>" in html
    assert all(f"<td>{each.replace(' ', '</td><td>', 1)}</td>" in html for each in figures)


@pytest.mark.parametrize(("percent", "expected"), [(0, 1.0), (50, 5.0), (90, 9.0), (99, 10.0)])
def test_percentiles_are_times_of_runs(percent: float, expected: float) -> None:
    assert Timing(tuple(map(float, range(10, 0, -1)))).percentile(percent) == expected
    assert Timing((2.0,)).percentile(percent) == 2


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(5.8284, "5828"), (0.2146, "215"), (0.02146, "21.5"), (0.0021, "2.1"), (0.00001234, "0.0123")],
)
def test_a_time_is_written_with_three_digits(seconds: float, text: str) -> None:
    assert milliseconds(seconds) == text
    assert milliseconds(0.0214, digits=2) == "21"


def test_functions_are_called_in_turn() -> None:
    calls: list[str] = []
    functions = {name: lambda name=name: calls.append(name) for name in ("a", "b")}
    timings = alternate(functions, rounds=4, warmup=1)
    assert calls == ["a", "b"] * 5
    assert {name: len(timing.seconds) for name, timing in timings.items()} == {"a": 4, "b": 4}
    ticks = iter(range(100))
    found = alternate({"a": int, "b": int}, rounds=2, clock=lambda: next(ticks))
    assert found["a"] == Timing((1, 1), (0, 6))
    assert found["b"] == Timing((1, 1), (3, 9))
    timings = alternate(
        {"slow": lambda: time.sleep(0.02), "fast": lambda: None}, rounds=3, warmup=0
    )
    assert timings["slow"].minimum >= 0.02
    assert timings["fast"].minimum < 0.01
    ticks = iter(range(100))
    timings = alternate(
        {"f": lambda: next(ticks), "g": lambda: None}, warmup=0, rounds=3, clock=lambda: next(ticks)
    )
    assert timings["f"].seconds == (2, 2, 2)
    assert timings["g"].seconds == (1, 1, 1)


def test_as_many_rounds_are_made_as_there_is_time_for() -> None:
    timings = alternate({"f": lambda: time.sleep(0.01)}, rounds=1000, seconds=0.0, warmup=0)
    assert len(timings["f"].seconds) == LEAST_ROUNDS
    assert len(alternate({"f": lambda: None}, rounds=1)["f"].seconds) == 1


def allowed() -> set[int]:
    return os.sched_getaffinity(0) if sys.platform == "linux" else set()


@pytest.mark.parametrize("before", [None, "2"])
def test_one_core_is_left_again(monkeypatch: pytest.MonkeyPatch, before: str | None) -> None:
    if before is None:
        monkeypatch.delenv(VARIABLE, raising=False)
    else:
        monkeypatch.setenv(VARIABLE, before)
    cores = allowed()

    def fail() -> None:
        assert sys.platform != "linux" or len(allowed()) == 1
        assert os.environ[VARIABLE] == "1"
        raise RuntimeError

    with pytest.raises(RuntimeError), one_core():
        fail()
    assert allowed() == cores
    assert os.environ.get(VARIABLE) == before
