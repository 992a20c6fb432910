"""Text made fit to be shown: on a terminal, in a notebook, as JSON."""

import io
import json

import pytest
from rich.table import Table

from tests.support.errors import giving
from tvm_qnn.io.terminal import Terminal, styled
from tvm_qnn.io.text import table, to_json, visible


def _refuse(word: str) -> None:
    pytest.fail(f"{word} is no JSON")


def test_what_is_no_finite_number_is_null() -> None:
    value = {"a": float("nan"), "b": [1.5, float("inf"), (-float("inf"), "NaN")], "c": {"d": 7}}
    found = json.loads(to_json(value), parse_constant=_refuse)
    assert found == {"a": None, "b": [1.5, None, [None, "NaN"]], "c": {"d": 7}}
    assert to_json({"a": 1}, indent=2) == '{\n  "a": 1\n}'


def test_a_table_shows_text_as_it_is() -> None:
    made = table("<b>", ("a & b", ""), [("x", 1), ("<script>", None)])
    assert made == (
        "<table><caption>&lt;b&gt;</caption><tr><th>a &amp; b</th><th></th></tr>"
        "<tr><td>x</td><td>1</td></tr><tr><td>&lt;script&gt;</td><td>None</td></tr></table>"
    )


HOSTILE = "out[/x] [red]:car:\x1b[2J"
SHOWN = r"out[/x] [red]:car:\x1b[2J"


def test_strings_are_shown_as_they_are_in_tables_too() -> None:
    text = io.StringIO()
    Terminal(file=text, width=80).print(styled(HOSTILE), f": {HOSTILE}", sep="")
    assert text.getvalue() == f"{SHOWN}: {SHOWN}\n"
    text = io.StringIO()
    table = Table(HOSTILE, title=HOSTILE, caption=HOSTILE)
    table.add_row(HOSTILE)
    Terminal(file=text, width=80).print(table)
    assert text.getvalue().count(SHOWN) == 4
    assert "\x1b" not in text.getvalue()


def test_styles_reach_a_terminal() -> None:
    text = io.StringIO()
    Terminal(file=text, width=80, force_terminal=True, color_system="standard").print(styled("x"))
    assert text.getvalue() == "\x1b[1mx\x1b[0m\n"


test_what_acts_on_a_terminal_is_shown = giving(
    visible,
    ("dog [big] :car:", "dog [big] :car:"),
    ("\x1b[31mred\x07\r\n\t", r"\x1b[31mred\x07\r\n\t"),
    ("\x9b31m", r"\x9b31m"),
    ("gpj.\u202eexe", r"gpj.\u202eexe"),
    ("k\udcff.tflite", r"k\udcff.tflite"),
    ("a\u2028b", r"a\u2028b"),
    ("Hündchen, 犬, \u0645\u06cc\u200c\u062e", "Hündchen, 犬, \u0645\u06cc\u200c\u062e"),
)


def test_ends_of_lines_may_be_kept() -> None:
    assert visible("a\n\x1bb\r\n", kept="\n") == "a\n\\x1bb\\r\n"
