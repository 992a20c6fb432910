from __future__ import annotations

import platform
import shutil
import subprocess
from pathlib import Path

import pytest

import tvm_qnn
from tests.support.tiles import network
from tvm_qnn.standalone.symbols import undefined_symbols


def header(target: str, folder: Path) -> tuple[list[str] | None, str]:
    """Return the needs of a network's object, and what its header says."""
    tvm_qnn.build(network(), target).export(folder / "m", format="c")
    return undefined_symbols((folder / "m.o").read_bytes()), (folder / "m.h").read_text()


@pytest.mark.parametrize("target", ["x86-amx", "armv7-neon"])
def test_the_header_says_exactly_what_the_object_needs(target: str, tmp_path: Path) -> None:
    needs, text = header(target, tmp_path)
    assert needs is not None
    assert ("syscall" in needs) == ("syscall (of Linux" in text) == (target == "x86-amx")
    said = text.replace("\n * ", " ")
    assert (", ".join(needs) in said) if needs else ("calls no function" in said)
    if nm := shutil.which("nm") if target == "x86-amx" and platform.machine() == "x86_64" else None:
        result = subprocess.run([nm, "-u", tmp_path / "m.o"], capture_output=True, check=True)
        assert result.stdout.decode().replace(" U ", "").split() == needs


def test_other_files_are_not_read() -> None:
    assert undefined_symbols(b"\xcf\xfa\xed\xfe") is None
