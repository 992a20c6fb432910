"""The README's tables say what the code does."""

from __future__ import annotations

import re
from pathlib import Path

from frontends.tflite.converters.registry import DATA, QUANTIZED
from legalize.kernels import KERNELS
from qnn_ops.registry import OPERATORS, PREFIX

README = Path(__file__).parent.parent.joinpath("README.md").read_text()


def section(title: str) -> str:
    return README.split(f"## {title}\n")[1].split("\n## ")[0]


def rows() -> list[list[str]]:
    """The cells of each row of the tables of operators, without their heads."""
    lines = [line for line in section("Supported operators").splitlines() if line[:2] == "| "]
    cells = [line.split("|")[1:-1] for line in lines]
    return [row for row in cells if "R.qnn." not in row[1]]


def test_the_table_names_each_converted_operator_and_no_other() -> None:
    codes = {code for row in rows() for code in re.findall(r"\b[A-Z][A-Z0-9_]{2,}\b", row[0])}
    assert codes == set(QUANTIZED) | set(DATA)


def test_the_table_names_each_operator_of_the_dialect() -> None:
    named = set(re.findall(r"`(\w+)`", section("Supported operators")))
    assert named == {name.removeprefix("relax.qnn.") for name in OPERATORS}


def test_the_table_says_which_operators_have_kernels() -> None:
    for _, operators, kernels in rows():
        names = [PREFIX + name for name in re.findall(r"`(\w+)`", operators)]
        has_kernels = any(name in KERNELS for name in names)
        assert (kernels.strip() == "portable") is not has_kernels, operators
