from __future__ import annotations

import pytest

from tvm_qnn.io.text import visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("dog [big] :car:", "dog [big] :car:"),
        ("\x1b[31mred\x07\r\n\t", r"\x1b[31mred\x07\r\n\t"),
        ("\x9b31m", r"\x9b31m"),
        ("gpj.\u202eexe", r"gpj.\u202eexe"),
        ("k\udcff.tflite", r"k\udcff.tflite"),
        ("a\u2028b", r"a\u2028b"),
        ("Hündchen, 犬, \u0645\u06cc\u200c\u062e", "Hündchen, 犬, \u0645\u06cc\u200c\u062e"),
    ],
)
def test_what_acts_on_a_terminal_is_shown(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_ends_of_lines_may_be_kept() -> None:
    assert visible("a\n\x1bb\r\n", kept="\n") == "a\n\\x1bb\\r\n"
