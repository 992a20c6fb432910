from __future__ import annotations

import io

from rich.table import Table

from tvm_qnn.io.terminal import Terminal, styled

HOSTILE = "out[/x] [red]:car:\x1b[2J"
SHOWN = r"out[/x] [red]:car:\x1b[2J"


def test_strings_are_shown_as_they_are() -> None:
    text = io.StringIO()
    Terminal(file=text, width=80).print(styled(HOSTILE), f": {HOSTILE}", sep="")
    assert text.getvalue() == f"{SHOWN}: {SHOWN}\n"


def test_so_are_those_in_tables() -> None:
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
