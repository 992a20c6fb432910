"""Tables of a model's layers that fit into eighty columns."""

import re
from collections.abc import Sequence
from itertools import zip_longest
from typing import Any

_WIDE = 130
"""The characters of a line in which names of layers and of operators fit side by side."""

_LEAST = 8


def layer_table(
    layers: Sequence[tuple[str, str, Sequence[str]]], figures: Sequence[str], width: int
) -> Any:
    """Return a table of the layers; if lines are short, names stand below their operators.

    Args:
        layers: for each layer its name, its operator and its figures; the last ones may be missing.
        figures: the names of the figures, each in one line or more.
        width: of the terminal, in characters.

    Returns:
        One of rich's tables.
    """
    from rich.table import Table
    from rich.text import Text

    from tvm_qnn.io.terminal import styled

    is_wide = width >= _WIDE
    table = Table("layer", "operator") if is_wide else Table("operator, layer")
    for column in figures:
        heading = Text("\n").join(styled(line, "") for line in column.split("\n"))
        table.add_column(heading, justify="right", no_wrap=True)
    columns = zip_longest(figures, *(row for _, _, row in layers), fillvalue="")
    widths = (max(len(line) for cell in cells for line in cell.split("\n")) for cells in columns)
    room = width - 1 - _room(0) - sum(map(_room, widths))
    room = max(room, _LEAST)
    for name, code, row in layers:
        if is_wide:
            table.add_row(name, code, *row)
        else:
            lines = [*_broken(code or "(other)", room), _end(name, room)]
            table.add_row(Text("\n").join(styled(line, "") for line in lines), *row)
    return table


def _room(characters: int) -> int:
    """Return the width of a column with so many characters, its line and its spaces."""
    return characters + 3


def _broken(name: str, room: int) -> list[str]:
    """Break a name between words, into lines of at most so many characters."""
    lines = [""]
    for word in re.split("(?<=_)", name):
        if lines[-1] and len(lines[-1] + word) > room:
            lines.append("")
        lines[-1] += word
    return lines


def _end(name: str, room: int) -> str:
    """Return the end of a layer's name, in which names differ; of several names the first one's."""
    first = name.partition(";")[0]
    return first if len(first) <= room else f"…{first[1 - room :]}"
