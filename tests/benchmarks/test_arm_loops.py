from pathlib import Path

import pytest

from benchmarks.arm_loops import main, products, sums
from benchmarks.loops.assembly import Loop
from tests.support.commands import said
from tests.support.mca import mca

LOOP = Loop(
    ".LBB0_2",
    (
        "\tsmull\tv0.8h, v1.8b, v2.8b",
        "\tsmlal2\tv0.8h, v1.16b, v2.16b",
        "\tsmull\tv3.4s, v1.4h, v2.4h",
        "\tsadalp\tv4.4s, v0.8h",
        "\tsdot\tv0.4s, v1.16b, v2.4b[1]",
        "\tsubs\tx2, x2, #1",
        "\tb.ne\t.LBB0_2",
    ),
)


def test_only_products_of_bytes_count() -> None:
    assert products(LOOP) == 8 + 8 + 16
    assert sums(LOOP) == [LOOP.own[index] for index in (0, 1, 3, 4)]
    assert products(Loop(".LBB0_1", ("\tmov\tx2, x0",))) == 0


@pytest.mark.arm
def test_the_sums_of_convolutions_keep_their_units_busy(tmp_path: Path) -> None:
    mca()
    report = tmp_path / "report.md"
    said(main, ["--markdown", str(report)])
    lines = [line.split("|")[1:-1] for line in report.read_text().splitlines() if "%" in line]
    assert len(lines) == 12
    busiest = [int(line[-2].strip("% ")) for line in lines]
    assert min(busiest) >= 80
    peaks = [int(line[-1].strip("% ")) for line in lines if "sums" in line[0]]
    assert min(peaks) >= 85
