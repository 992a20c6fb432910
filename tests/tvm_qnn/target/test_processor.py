import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from tvm.target import codegen

from tvm_qnn.target import processor
from tvm_qnn.target.processor import (
    Requirements,
    extensions_here,
    parts,
    processors,
    this_platform,
)
from tvm_qnn.target.target import EXTENSIONS, host_target, requirements


def test_what_this_machine_has_is_what_llvm_says() -> None:
    told = {*requirements(host_target()).extensions}
    assert extensions_here(sorted(EXTENSIONS)) == told


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="threads cannot be bound here")
def test_processors_are_those_that_the_program_may_use() -> None:
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    try:
        assert processors() == 1
    finally:
        os.sched_setaffinity(0, before)
    assert processors() == len(before)


@pytest.fixture
def cpuinfo(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """Yield the file in which Linux on x86-64 is to tell what the processor has."""
    file = tmp_path / "cpuinfo"
    monkeypatch.setattr(processor, "_CPUINFO", file)
    monkeypatch.setattr(processor, "this_platform", lambda: "x86_64-linux")
    processor._x86_extensions.cache_clear()
    yield file
    processor._x86_extensions.cache_clear()


_HASWELL = "pni ssse3 sse4_1 sse4_2 avx avx2 fma f16c popcnt abm movbe bmi1 bmi2"


@pytest.mark.parametrize(
    ("flags", "mattr"),
    [
        (_HASWELL, None),
        (f"{_HASWELL} avx_vnni", ["+avxvnni"]),
        (_HASWELL.replace(" avx avx2 fma f16c", ""), ["-avx", "-avx2", "-f16c", "-fma"]),
        (_HASWELL.replace(" movbe", " avx512f"), ["-movbe", "+avx512f"]),
    ],
)
def test_the_host_has_what_the_system_tells_whatever_its_processors_name_says(
    monkeypatch: pytest.MonkeyPatch, cpuinfo: Path, flags: str, mattr: list[str] | None
) -> None:
    cpuinfo.write_text(f"flags\t\t: fpu {flags}\n")
    monkeypatch.setattr(codegen, "llvm_get_system_cpu", lambda: "haswell")
    host = host_target()
    assert host.attrs.get("mattr") == mattr
    assert {*requirements(host).extensions} == extensions_here(sorted(EXTENSIONS))


def test_where_the_system_tells_nothing_the_processors_name_does(
    monkeypatch: pytest.MonkeyPatch, cpuinfo: Path
) -> None:
    cpuinfo.write_text("processor\t: 0\n")
    monkeypatch.setattr(codegen, "llvm_get_system_cpu", lambda: "haswell")
    assert host_target().attrs.get("mattr") is None


def test_names_of_linux_are_those_of_llvm(monkeypatch: pytest.MonkeyPatch, cpuinfo: Path) -> None:
    cpuinfo.write_text("processor\t: 0\nflags\t\t: fpu pni sse4_1 abm bmi1 avx512_vnni amx_int8\n")
    monkeypatch.setattr(processor, "_may_use_tiles", lambda: True)
    asked = ["sse3", "sse4.1", "sse4.2", "lzcnt", "bmi", "bmi2", "avx512vnni", "amx-int8", "avx2"]
    assert extensions_here(asked) == {*asked} - {"sse4.2", "bmi2", "avx2"}


@pytest.mark.parametrize("is_allowed", [False, True])
def test_tiles_are_there_if_linux_allows_them(
    monkeypatch: pytest.MonkeyPatch, cpuinfo: Path, is_allowed: bool
) -> None:
    cpuinfo.write_text(f"flags\t\t: {_HASWELL} amx_bf16 amx_tile amx_int8\n")
    monkeypatch.setattr(processor, "_may_use_tiles", lambda: is_allowed)
    monkeypatch.setattr(codegen, "llvm_get_system_cpu", lambda: "haswell")
    told = extensions_here(["avx2", "amx-int8", "amx-tile"])
    assert told == ({"avx2", "amx-int8", "amx-tile"} if is_allowed else {"avx2"})
    tiles = ["+amx-int8", "+amx-tile"] if is_allowed else None
    assert host_target().attrs.get("mattr") == tiles


def test_where_the_system_is_not_linux_llvm_is_asked(
    monkeypatch: pytest.MonkeyPatch, cpuinfo: Path
) -> None:
    assert not cpuinfo.exists()
    monkeypatch.setattr(codegen, "llvm_get_system_cpu", lambda: "haswell")
    assert extensions_here(["avx2", "avx512f", "no-such"]) == {"avx2"}


@pytest.mark.parametrize(
    ("platform", "here"),
    [
        ("x86_64-unknown-linux-gnu", "x86_64-linux"),
        ("x86_64-pc-linux-gnu", "amd64-linux"),
        ("armv7l-linux-gnueabihf", "armv8l-linux"),
        ("aarch64-linux-gnu", "aarch64-linux"),
        ("arm64-apple-darwin23.1.0", "arm64-darwin"),
        ("arm64-apple-macosx11.0", "arm64-darwin"),
        ("x86_64-pc-windows-msvc", "amd64-win32"),
    ],
)
def test_names_of_a_platform(monkeypatch: pytest.MonkeyPatch, platform: str, here: str) -> None:
    monkeypatch.setattr(processor, "this_platform", lambda: here)
    assert Requirements(platform, ()).why_not_here() is None
    for other in ("riscv64-linux-gnu", "x86_64-pc-windows-msvc", "aarch64-apple-darwin"):
        if parts(other) != parts(here):
            assert Requirements(other, ()).why_not_here() == (
                f"it is for {other}, this machine is {here}"
            )


def test_extensions_that_are_missing_are_named() -> None:
    asked = Requirements(this_platform(), ("future2", "future1"))
    assert asked.why_not_here() == (
        "it needs a processor with future1, future2, which this one lacks"
    )
