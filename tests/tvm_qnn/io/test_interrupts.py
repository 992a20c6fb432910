import importlib
import signal
import threading
from typing import Any

import numpy as np
import pytest
from tvm import relax

import tvm_qnn
from tests.support.modules import module
from tvm_qnn.io.interrupts import interruptible

pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


class Finalized:
    """Ctrl-C while an object is finalized: Python prints it, and goes on."""

    def __del__(self) -> None:
        signal.raise_signal(signal.SIGINT)
        for _ in range(1000):  # until Python looks for signals
            pass


def test_it_is_raised_at_the_next_check() -> None:
    steps = []

    def work() -> None:
        with interruptible() as check:
            check()
            Finalized()
            steps.append("dropped")
            check()
            steps.append("not reached")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert steps == ["dropped"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_it_is_raised_at_the_end_after_errors_of_the_block() -> None:
    with pytest.raises(KeyboardInterrupt), interruptible():
        Finalized()

    def work() -> None:
        with interruptible():
            Finalized()
            raise ValueError("own")

    with pytest.raises(ValueError, match="own"):
        work()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_program_that_handles_the_signal_keeps_its_handler() -> None:
    seen: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _frame: seen.append(number))
    try:
        with interruptible() as check:
            signal.raise_signal(signal.SIGINT)
            check()
    finally:
        signal.signal(signal.SIGINT, before)
    assert seen == [signal.SIGINT]


def test_other_threads_have_no_signals() -> None:
    done = []

    def work() -> None:
        with interruptible() as check:
            check()
            done.append(True)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert done


def test_a_build_ends_though_python_dropped_it(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = importlib.import_module("tvm_qnn.build")
    lower = steps.lower

    def lower_and_drop(*arguments: Any, **options: Any) -> Any:
        Finalized()
        return lower(*arguments, **options)

    mod = module({"x": relax.TensorType((4,), "int8")}, lambda x: relax.op.add(x, x))
    monkeypatch.setattr(steps, "lower", lower_and_drop)
    with pytest.raises(KeyboardInterrupt):
        tvm_qnn.build(mod, "host")
    monkeypatch.undo()
    x = np.arange(4, dtype=np.int8)
    assert tvm_qnn.build(mod, "host").run(x).tolist() == [0, 2, 4, 6]
