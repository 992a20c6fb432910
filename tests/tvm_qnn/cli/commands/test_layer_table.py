import io

import pytest
from rich.console import Console

from tvm_qnn.cli.commands.layer_table import _broken, layer_table

LAYERS = [("net/first/Relu;other", "CONV_2D", ["1×8", "12"]), ("last", "", ["1×2"])]


@pytest.mark.parametrize(
    ("width", "rows"),
    [
        (30, ["CONV_2D │ 1×8 │ 12 │", "…irst/Relu │", "(other) │ 1×2 │ │", "last │"]),
        (130, ["net/first/Relu;other │ CONV_2D │ 1×8 │ 12 │", "last │ │ 1×2 │ │"]),
    ],
)
def test_names_stand_below_operators_where_lines_are_short(width: int, rows: list[str]) -> None:
    out = io.StringIO()
    Console(file=out, width=width).print(layer_table(LAYERS, ("output", "MACs"), width))
    lines = [" ".join(line.split()).strip("│ ") for line in out.getvalue().splitlines()]
    shown = [line for line in lines if line[0] not in "┏┃┡└"]
    assert [row.strip("│ ") for row in rows] == shown
    assert max(map(len, out.getvalue().splitlines())) <= width


def test_operators_with_long_names_break_where_words_end() -> None:
    assert _broken("_sg_mkldnn_fully_connected", 16) == ["_sg_mkldnn_", "fully_connected"]
    assert _broken("CONV_2D", 16) == ["CONV_2D"]
