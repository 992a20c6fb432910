from __future__ import annotations

import shutil
from dataclasses import replace

import pytest
from click.testing import CliRunner

from benchmarks.loops.table import EXPLANATION, command
from benchmarks.x86_loops import SUITE


def test_a_note_stands_behind_what_the_columns_are() -> None:
    assert replace(SUITE, note="").explanation == EXPLANATION
    assert replace(SUITE, note="More.").explanation == f"{EXPLANATION} More."


def test_without_llvm_mca_there_is_no_table_but_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    result = CliRunner().invoke(command(SUITE, "About."), [])
    assert result.exit_code == 1
    assert result.output == "Error: this needs llvm-mca of LLVM 18 or later: apt install llvm-19\n"
