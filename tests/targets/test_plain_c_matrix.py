"""A small part of `python -m tests.targets.plain_c --matrix`, and its reports of faults."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from qnn_ops.errors import QnnError
from tests.targets.networks import networks
from tests.targets.plain_c_matrix import Cell, Compiler, cells, compilers, table
from tvm_qnn.footprint import boards

NETWORKS = {network.name: network for network in networks()}
TOOLS = {tool.name: tool for tool in compilers()}


@pytest.mark.mcu
@pytest.mark.parametrize("compiler", TOOLS)
@pytest.mark.parametrize("name", ["digits int8", "int16", "hybrid"])
def test_networks_are_litert_s_by_every_compiler(name: str, compiler: str) -> None:
    tool = TOOLS[compiler]
    if tool.missing:
        pytest.skip(tool.missing)
    (cell,) = cells(NETWORKS[name], [tool], ["-O2"], 2)
    assert cell.problem is None
    # The library of Debian's compiler for Xtensa adds no floats: an ESP8266's ROM does.
    has_floats = compiler != "xtensa" or name == "digits int8"
    assert cell.impossible == (None if has_floats else "no floats")


@pytest.mark.mcu
@pytest.mark.parametrize("core", ["cortex-m0plus", "cortex-m4"])
def test_what_a_board_has_no_room_for_runs_on_a_larger_one(core: str) -> None:
    if reason := TOOLS[core].missing:
        pytest.skip(reason)
    small = replace(boards.PLAIN_C_BOARDS[core], room=0)
    with patch.dict(boards.PLAIN_C_BOARDS, {core: small}):
        (cell,) = cells(NETWORKS["digits int8"], [TOOLS[core]], ["-Os"], 1)
    assert (cell.problem, cell.impossible) == (None, None)


def test_other_numbers_are_a_problem_and_what_no_board_has_is_none() -> None:
    def says(text: str) -> Compiler:
        def fail(folder: Path, inputs: Sequence[Any], level: str) -> list[bytes]:
            del folder, inputs, level
            raise QnnError(text)

        return Compiler("none", None, fail)

    def nothing(folder: Path, inputs: Sequence[Any], level: str) -> list[bytes]:
        del folder, level
        return [b""] * len(inputs)

    network = NETWORKS["digits int8"]
    (other,) = cells(network, [Compiler("none", None, nothing)], ["-Os"], 2)
    assert other == Cell("digits int8", "none", "-Os", 2, problem="2 outputs differ")
    (large,) = cells(network, [says("ld: region `memory' overflowed by 9 bytes")], ["-Os"], 1)
    assert (large.problem, large.impossible) == (None, "no room")
    (failed,) = cells(network, [says("unknown")], ["-Os"], 1)
    assert (failed.problem, failed.impossible) == ("unknown", None)
    lines = table([other, large], [says("")]).splitlines()
    assert lines == ["network      none", "digits int8  no room"]
    assert table([other], [says("")]).endswith("WRONG -Os")
