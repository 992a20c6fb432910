"""The README says what the other pages and the code say."""

import re
from pathlib import Path

import pytest

from tvm_qnn.target.boards import BOARDS
from tvm_qnn.target.target import NAMES

ROOT = Path(__file__).parents[1]
README = ROOT.joinpath("README.md").read_text("utf-8")
SPEED = README.split("## Speed\n")[1].split("\n## ")[0]
ROWS = [line for line in SPEED.splitlines() if re.match(r"\| [\w].*\d", line)]


def test_it_is_short() -> None:
    assert len(README.splitlines()) <= 150


@pytest.mark.parametrize("row", ROWS)
def test_times_are_those_of_the_page_of_performance(row: str) -> None:
    assert f"\n{row}\n" in ROOT.joinpath("docs/performance.md").read_text("utf-8")


def test_the_picture_has_the_times_of_the_table() -> None:
    picture = ROOT.joinpath("docs/pictures/speed.svg").read_text("utf-8")
    texts = re.findall(r"<text[^>]*>([^<]*)</text>", picture)
    assert [text for text in texts if f"| {text} |" in SPEED and "," in text] == [
        row.split("|")[1].strip() for row in ROWS
    ]
    for ratio in re.findall(r"\(([\d.]+)\)", "".join(ROWS)):
        assert f"{1 / float(ratio):.2g}" in texts


def test_targets_that_it_names_are_known() -> None:
    named = set(re.findall(r"--target ([\w-]+)", README))
    assert {"cortex-m4", "wasm32"} <= named
    assert named <= {*NAMES, *BOARDS, "host"}
