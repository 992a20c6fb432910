import io
import os
import threading
from collections.abc import Callable
from typing import Any

import pytest

from tvm_qnn.io import progress
from tvm_qnn.io.progress import counted, native_code_is_quiet, timed
from tvm_qnn.io.steps import step
from tvm_qnn.io.terminal import Terminal


class Clock:
    """In place of a timer: the time is up when the test says so."""

    daemon = False

    def __init__(self, seconds: float, ring: Callable[[], None]) -> None:
        assert seconds == progress.PATIENCE
        self.ring = ring
        self.is_set = False

    def start(self) -> None:
        self.is_set = True

    def cancel(self) -> None:
        self.is_set = False

    def join(self) -> None:
        assert not self.is_set


@pytest.fixture
def clocks(monkeypatch: pytest.MonkeyPatch) -> list[Clock]:
    made: list[Clock] = []

    def make(*given: Any) -> Clock:
        made.append(Clock(*given))
        return made[-1]

    monkeypatch.setattr(threading, "Timer", make)
    return made


def test_without_a_terminal_only_what_is_done_is_printed() -> None:
    text = io.StringIO()
    console = Terminal(file=text, width=80)
    with timed(console, "Think"):
        assert text.getvalue() == ""
    assert text.getvalue() == "  ✓ Think  0.0 s\n"


def test_a_terminal_sees_the_task_and_its_step_as_they_are() -> None:
    text = io.StringIO()
    console = Terminal(file=text, width=80, force_terminal=True)
    with timed(console, "Think"):
        console.print("busy")
        assert "Think" in text.getvalue()
    assert "✓" in text.getvalue()
    text = io.StringIO()
    with timed(Terminal(file=text, width=80, force_terminal=True), "Compile"):
        step("lower [0]")
    assert "Compile: lower [0]" in text.getvalue()
    text = io.StringIO()
    with timed(Terminal(file=text, width=80, force_terminal=True), "Import k[/x]{0}\a.tflite"):
        pass
    assert text.getvalue().count(r"Import k[/x]{0}\x07.tflite") >= 2


@pytest.mark.parametrize("quiet", [False, True])
def test_a_long_task_says_its_steps_without_a_terminal(quiet: bool, clocks: list[Clock]) -> None:
    text = io.StringIO()
    with timed(Terminal(file=text, width=80, quiet=quiet), "Compile [b]\a"):
        step("lower")
        step("compile 3 functions")
        assert text.getvalue() == ""
        clocks[0].ring()
        step("link")
    lines = text.getvalue().splitlines()
    task = r"  Compile [b]\x07"
    assert lines[:2] == [f"{task}: compile 3 functions", f"{task}: link"]
    assert [line[:3] for line in lines[2:]] == ([] if quiet else ["  ✓"])
    assert not clocks[0].is_set


def test_a_long_task_without_steps_says_its_name(clocks: list[Clock]) -> None:
    text = io.StringIO()
    with timed(Terminal(file=text, width=80, quiet=True), "Import a.tflite"):
        clocks[0].ring()
    assert text.getvalue() == "  Import a.tflite\n"


def test_a_task_that_fails_is_not_done(clocks: list[Clock]) -> None:
    with pytest.raises(RuntimeError), timed(Terminal(file=io.StringIO()), "Think"):
        raise RuntimeError
    assert not clocks[0].is_set
    text = io.StringIO()
    with pytest.raises(RuntimeError), timed(Terminal(file=text), "Think"):
        raise RuntimeError
    assert "✓" not in text.getvalue()


def test_a_slow_step_is_said_while_it_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "PATIENCE", 0.01)
    said = threading.Event()

    class Heard(io.StringIO):
        def flush(self) -> None:
            said.set()

    text = Heard()
    with timed(Terminal(file=text, width=80, quiet=True), "Compile"):
        step("lower")
        assert said.wait(60)
        assert text.getvalue() == "  Compile: lower\n"


def test_notes_of_native_code_are_dropped(capfd: pytest.CaptureFixture[str]) -> None:
    with native_code_is_quiet():
        os.write(2, b"INFO: a delegate\n")
    os.write(2, b"heard\n")
    assert capfd.readouterr().err == "heard\n"


def test_what_is_counted_is_seen_on_a_terminal_with_its_rate() -> None:
    text = io.StringIO()
    console = Terminal(file=text, width=100, force_terminal=True)
    with counted(console, "Evaluate k[/x]\a", 7, done=2) as advance:
        advance()
        advance()
    assert r"Evaluate k[/x]\x07" in text.getvalue()
    assert "4/7" in text.getvalue()
    assert "/s" in text.getvalue()
    text = io.StringIO()
    with counted(Terminal(file=text), "Evaluate", 7) as advance:
        advance()
    assert text.getvalue() == ""
