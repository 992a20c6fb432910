from __future__ import annotations

import io
import os

import pytest

from tvm_qnn.io.progress import counted, native_code_is_quiet, timed
from tvm_qnn.io.terminal import Terminal


def test_without_a_terminal_only_what_is_done_is_printed() -> None:
    text = io.StringIO()
    console = Terminal(file=text, width=80)
    with timed(console, "Think"):
        assert text.getvalue() == ""
    assert text.getvalue() == "  ✓ Think  0.0 s\n"


def test_a_terminal_sees_the_task_while_it_runs() -> None:
    text = io.StringIO()
    console = Terminal(file=text, width=80, force_terminal=True)
    with timed(console, "Think"):
        console.print("busy")
        assert "Think" in text.getvalue()
    assert "✓" in text.getvalue()


def test_names_in_a_task_are_shown_as_they_are() -> None:
    text = io.StringIO()
    with timed(Terminal(file=text, width=80, force_terminal=True), "Import k[/x]{0}\a.tflite"):
        pass
    assert text.getvalue().count(r"Import k[/x]{0}\x07.tflite") >= 2


def test_a_task_that_fails_is_not_done() -> None:
    text = io.StringIO()
    with pytest.raises(RuntimeError), timed(Terminal(file=text), "Think"):
        raise RuntimeError
    assert "✓" not in text.getvalue()


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


def test_elsewhere_nothing_is_printed_of_it() -> None:
    text = io.StringIO()
    with counted(Terminal(file=text), "Evaluate", 7) as advance:
        advance()
    assert text.getvalue() == ""
