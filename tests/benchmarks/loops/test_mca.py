import shutil
from pathlib import Path

import pytest

from benchmarks.loops.mca import analyze, find_mca
from tests.support.errors import fails
from tests.support.mca import mca


@pytest.mark.parametrize(
    ("triple", "processor", "product", "jump"),
    [
        ("aarch64", "neoverse-n1", "\tsdot\tv{}.4s, v30.16b, v31.4b[1]", "\tb.ne\t.LBB0_2"),
        ("x86_64", "icelake-server", "\tvpdpbusd\t%zmm30, %zmm31, %zmm{}", "\tjne\t.LBB0_2"),
    ],
    ids=["aarch64", "x86_64"],
)
def test_independent_sums_keep_two_units_busy(
    tmp_path: Path, triple: str, processor: str, product: str, jump: str
) -> None:
    block = [product.format(number) for number in range(20)]
    found = analyze(mca(), triple, processor, [*block, jump], tmp_path)
    assert found.instructions == 21
    assert found.busiest == pytest.approx(10, abs=0.1)
    assert found.cycles == pytest.approx(10, abs=0.5)


def test_a_chain_of_sums_leaves_units_idle(tmp_path: Path) -> None:
    block = ["\tsrshl\tv0.4s, v0.4s, v1.4s"] * 8
    found = analyze(mca(), "aarch64", "cortex-a72", block, tmp_path)
    assert found.busiest < 0.5 * found.cycles


def test_products_of_a_given_encoding_are_read(tmp_path: Path) -> None:
    block = ["\t{vex}\tvpdpbusd\t%ymm1, %ymm2, %ymm3"]
    assert analyze(mca(), "x86_64", "alderlake", block, tmp_path).instructions == 1


def test_what_llvm_does_not_know_is_an_error(tmp_path: Path) -> None:
    fails("llvm-mca", analyze, mca(), "x86_64", "alderlake", ["\tnonsense"], tmp_path)


def test_a_missing_program_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    fails("apt install llvm-19", find_mca)


@pytest.mark.parametrize(("version", "serves"), [("14.0.6", False), ("19.1.7", True)])
def test_a_program_without_a_number_must_not_be_too_old(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str, serves: bool
) -> None:
    program = tmp_path / "llvm-mca"
    program.write_text(f"#!/bin/sh\necho Debian LLVM version {version}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    if serves:
        assert find_mca() == str(program)
    else:
        fails("llvm-mca of LLVM 18", find_mca)
