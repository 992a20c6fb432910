"""The README's tables say what the code does."""

from __future__ import annotations

import re
from pathlib import Path

import frontends.mxnet.converters  # noqa: F401 (registers the rules)
from frontends.mxnet.converters.registry import CONVERTERS
from frontends.tflite.converters.registry import codes_with
from legalize.kernels.table import KERNELS
from qnn_ops.registry import OPERATORS, PREFIX

README = Path(__file__).parent.parent.joinpath("README.md").read_text()


def section(title: str) -> str:
    return README.split(f"## {title}\n")[1].split("\n## ")[0]


def rows(framework: str = "") -> list[list[str]]:
    """List the cells of each row of a framework's table of operators, or of all, without heads."""
    text = section("Supported operators")
    if framework:
        text = text.split(f"| {framework} |")[1].split("\n\n")[0]
    lines = [line for line in text.splitlines() if line[:2] == "| "]
    cells = [line.split("|")[1:-1] for line in lines]
    return [row for row in cells if "R.qnn." not in row[1]]


def test_the_table_names_each_converted_operator_and_no_other() -> None:
    codes = {
        code for row in rows("TFLite") for code in re.findall(r"\b[A-Z][A-Za-z0-9_]+\b", row[0])
    }
    assert codes == {code.removeprefix("CUSTOM:") for code in codes_with("quantized", "data")}


def test_the_table_names_each_hybrid_operator_and_no_other() -> None:
    codes = {code for row in rows("hybrid") for code in re.findall(r"\b[A-Z]\w{2,}\b", row[0])}
    assert codes == set(codes_with("hybrid"))


def test_the_table_names_a_name_of_each_operator_of_mxnet_and_no_other() -> None:
    names = {name for row in rows("MXNet") for name in re.findall(r"\w+", row[0].split(";")[0])}
    assert names <= set(CONVERTERS)
    named = {CONVERTERS[name] for name in names}
    # The table only describes these families.
    modules = {"activations", "arithmetic", "cast"}
    missing = {
        name
        for name, rule in CONVERTERS.items()
        if rule not in named and rule.__module__.rpartition(".")[2] not in modules
    }
    assert not missing


def test_the_table_names_each_operator_of_the_dialect() -> None:
    named = set(re.findall(r"`(\w+)`", section("Supported operators")))
    assert named == {name.removeprefix("relax.qnn.") for name in OPERATORS}


def test_the_table_says_which_operators_have_kernels() -> None:
    for _, operators, kernels in rows():
        names = [PREFIX + name for name in re.findall(r"`(\w+)`", operators)]
        has_kernels = any(name in KERNELS for name in names)
        assert (kernels.strip() == "portable") is not has_kernels, operators
