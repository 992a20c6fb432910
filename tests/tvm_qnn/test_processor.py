from __future__ import annotations

from pathlib import Path

import pytest

from tvm_qnn import processor
from tvm_qnn.processor import Requirements, extensions_here, this_platform
from tvm_qnn.target import EXTENSIONS, host_target, requirements


def test_what_this_machine_has_is_what_llvm_says() -> None:
    told = {*requirements(host_target()).extensions}
    assert extensions_here(sorted(EXTENSIONS)) == told


def test_names_of_linux_and_llvm_are_brought_together(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "cpuinfo"
    file.write_text("processor\t: 0\nflags\t\t: fpu pni sse4_1 abm bmi1 avx512_vnni amx_int8\n")
    monkeypatch.setattr(processor, "_CPUINFO", file)
    monkeypatch.setattr(processor, "this_platform", lambda: "x86_64-linux")
    monkeypatch.setattr(processor, "_may_use_tiles", lambda: True)
    processor._x86_extensions.cache_clear()
    asked = ["sse3", "sse4.1", "sse4.2", "lzcnt", "bmi", "bmi2", "avx512vnni", "amx-int8", "avx2"]
    try:
        assert extensions_here(asked) == {*asked} - {"sse4.2", "bmi2", "avx2"}
    finally:
        processor._x86_extensions.cache_clear()


@pytest.mark.parametrize("is_allowed", [False, True])
def test_tiles_are_there_if_linux_allows_them(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, is_allowed: bool
) -> None:
    file = tmp_path / "cpuinfo"
    file.write_text("flags\t\t: avx2 amx_bf16 amx_tile amx_int8\n")
    monkeypatch.setattr(processor, "_CPUINFO", file)
    monkeypatch.setattr(processor, "this_platform", lambda: "x86_64-linux")
    monkeypatch.setattr(processor, "_may_use_tiles", lambda: is_allowed)
    caches = processor._x86_extensions, processor.has_tiles
    for cached in caches:
        cached.cache_clear()
    try:
        assert processor.has_tiles() is is_allowed
        told = extensions_here(["avx2", "amx-int8", "amx-tile"])
        assert told == ({"avx2", "amx-int8", "amx-tile"} if is_allowed else {"avx2"})
        assert (host_target().attrs.get("mattr") is not None) is is_allowed
    finally:
        for cached in caches:
            cached.cache_clear()


@pytest.mark.parametrize(
    ("platform", "here"),
    [
        ("x86_64-unknown-linux-gnu", "x86_64-linux"),
        ("x86_64-pc-linux-gnu", "amd64-linux"),
        ("armv7l-linux-gnueabihf", "armv8l-linux"),
        ("aarch64-linux-gnu", "aarch64-linux"),
        ("arm64-apple-darwin23.1.0", "arm64-darwin"),
    ],
)
def test_one_platform_has_several_names(
    monkeypatch: pytest.MonkeyPatch, platform: str, here: str
) -> None:
    monkeypatch.setattr(processor, "this_platform", lambda: here)
    assert Requirements(platform, ()).why_not_here() is None
    for other in ("riscv64-linux-gnu", "x86_64-pc-windows-msvc", "aarch64-apple-darwin"):
        if processor.parts(other) != processor.parts(here):
            assert Requirements(other, ()).why_not_here() == (
                f"it is for {other}, this machine is {here}"
            )


def test_extensions_that_are_missing_are_named() -> None:
    asked = Requirements(this_platform(), ("future2", "future1"))
    assert asked.why_not_here() == (
        "it needs a processor with future1, future2, which this one lacks"
    )
