import platform
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import tvm_qnn
from tests.support.tiles import network
from tvm_qnn.build import export_c
from tvm_qnn.standalone.symbols import loaded_sections, offered_symbols, undefined_symbols


def header(target: str, folder: Path) -> tuple[list[str] | None, str]:
    """Return the needs of a network's object, and those in its header."""
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
    assert loaded_sections(b"\xcf\xfa\xed\xfe") is None
    assert offered_symbols(b"\xcf\xfa\xed\xfe") is None


@pytest.mark.parametrize("target", ["x86-avx2", "cortex-m4"])
def test_the_sections_that_a_program_loads(target: str, tmp_path: Path) -> None:
    export_c(network(), target, None, tmp_path / "m")
    sections = loaded_sections((tmp_path / "m.o").read_bytes())
    assert sections is not None
    calls = (tmp_path / "m.c").read_text()
    functions = re.findall(r"^extern void (m_\w+)\(", calls, re.MULTILINE)
    assert {f".text.{name}" for name in functions} <= sections.keys()
    assert all(sections.values())
    assert not {".symtab", ".strtab", ".comment"} & sections.keys()
    if tool := shutil.which("size"):
        result = subprocess.run([tool, "-A", tmp_path / "m.o"], capture_output=True, check=False)
        lines = [line.split() for line in result.stdout.decode().splitlines()]
        told = {
            words[0]: int(words[1]) for words in lines if len(words) == 3 and words[0][0] == "."
        }
        assert sections.items() <= told.items()
