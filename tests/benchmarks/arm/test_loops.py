from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from benchmarks.arm.loops import analyze, loops
from benchmarks.arm_loops import find_mca, main, products
from qnn_ops.errors import QnnError

ASSEMBLY = """\
f:
\tmov\tw1, #8
.LBB0_1:                                // outer
\tmov\tx2, x0
.LBB0_2:                                // inner
.Ltmp3:
\tsmull\tv0.8h, v1.8b, v2.8b
\tsmlal2\tv0.8h, v1.16b, v2.16b
\tsmull\tv3.4s, v1.4h, v2.4h
\tcbz\tw3, .LBB0_4
\tsdot\tv0.4s, v1.16b, v2.4b[1]
\tsubs\tx2, x2, #1
\tb.ne\t.LBB0_2
.LBB0_4:
\tstr\tq0, [x3]
\tsubs\tw1, w1, #1
\tb.gt\t.LBB0_1
\tb\t.LBB0_5
.LBB0_5:
\tret
"""


def test_loops_have_their_own_instructions() -> None:
    inner, outer = loops(ASSEMBLY)
    assert (inner.label, inner.is_inner) == (".LBB0_2", True)
    assert [line.split()[0] for line in inner.own] == [
        *("smull", "smlal2", "smull", "cbz", "sdot", "subs", "b.ne")
    ]
    assert inner.count("smull") == 2
    assert (outer.label, outer.is_inner) == (".LBB0_1", False)
    assert [line.split()[0] for line in outer.own] == ["mov", "str", "subs", "b.gt"]


def test_only_products_of_bytes_count() -> None:
    inner, outer = loops(ASSEMBLY)
    assert products(inner) == 8 + 8 + 16
    assert products(outer) == 0


def mca() -> str:
    try:
        return find_mca()
    except QnnError as error:
        pytest.skip(str(error))


def test_independent_sums_keep_two_units_busy(tmp_path: Path) -> None:
    block = [f"\tsdot\tv{number}.4s, v30.16b, v31.4b[1]" for number in range(20)]
    found = analyze(mca(), "neoverse-n1", [*block, "\tb.ne\t.LBB0_2"], tmp_path)
    assert found.instructions == 21
    assert found.busiest == pytest.approx(10, abs=0.1)
    assert found.cycles == pytest.approx(10, abs=0.5)


def test_a_chain_of_sums_leaves_units_idle(tmp_path: Path) -> None:
    found = analyze(mca(), "cortex-a72", ["\tsrshl\tv0.4s, v0.4s, v1.4s"] * 8, tmp_path)
    assert found.busiest < 0.5 * found.cycles


@pytest.mark.arm
def test_the_sums_of_convolutions_keep_their_units_busy(tmp_path: Path) -> None:
    mca()
    report = tmp_path / "report.md"
    result = CliRunner().invoke(main, ["--markdown", str(report)])
    assert result.exit_code == 0, result.output
    lines = [line.split("|")[1:-1] for line in report.read_text().splitlines() if "%" in line]
    assert len(lines) == 12
    busiest = [int(line[-2].strip("% ")) for line in lines]
    assert min(busiest) >= 80
    peaks = [int(line[-1].strip("% ")) for line in lines if "sums" in line[0]]
    assert min(peaks) >= 85
