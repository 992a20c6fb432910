"""The README's tables say what the code does."""

from __future__ import annotations

import re
from pathlib import Path

from frontends.tflite.converters.registry import DATA, QUANTIZED
from qnn_ops.registry import OPERATORS

README = Path(__file__).parent.parent.joinpath("README.md").read_text()


def section(title: str) -> str:
    return README.split(f"## {title}\n")[1].split("\n## ")[0]


def test_the_table_names_each_converted_operator_and_no_other() -> None:
    rows = [line for line in section("Supported operators").splitlines() if line.startswith("| ")]
    codes = {
        code for row in rows for code in re.findall(r"\b[A-Z][A-Z0-9_]{2,}\b", row.split("|")[1])
    }
    assert codes == set(QUANTIZED) | set(DATA)


def test_the_table_names_each_operator_of_the_dialect() -> None:
    named = set(re.findall(r"`(\w+)`", section("Supported operators")))
    assert named == {name.removeprefix("relax.qnn.") for name in OPERATORS}
