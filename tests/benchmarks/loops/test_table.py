import shutil
from dataclasses import replace

import pytest

from benchmarks.loops.table import EXPLANATION, command
from benchmarks.x86_loops import SUITE
from tests.support.commands import refused


def test_a_note_stands_behind_what_the_columns_are() -> None:
    assert replace(SUITE, note="").explanation == EXPLANATION
    assert replace(SUITE, note="More.").explanation == f"{EXPLANATION} More."


def test_without_llvm_mca_there_is_no_table_but_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    text = refused(command(SUITE, "About."), [])
    assert text == "Error: this needs llvm-mca of LLVM 18 or later: apt install llvm-19\n"
