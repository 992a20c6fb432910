"""Real linkers and compilers for other platforms: their output runs there."""

import importlib.util
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from qnn_ops.arrays import Array
from tests.support.arm import CORTEX_A15, CORTEX_A72, Core, on_cores
from tests.support.arm_models import needs_runtime, run_in_example
from tests.support.arrays import full_range
from tests.support.standalone import compile_example, run_example
from tests.support.tflite import library_of
from tvm_qnn import Library, digits
from tvm_qnn.target.linker import find_linker

find_spec = importlib.util.find_spec
needs_clang = pytest.mark.skipif(
    not (shutil.which("clang") and shutil.which("ld.lld")),
    reason="no clang with ld.lld on the path",
)
needs_zig = pytest.mark.skipif(
    find_spec("ziglang") is None, reason="the package ziglang is not installed"
)
CLANG = pytest.param("clang", marks=needs_clang)
ZIG = pytest.param("ziglang", marks=needs_zig)

ELF = {CORTEX_A72: (2, 183), CORTEX_A15: (1, 40)}
"""64 or 32 bits, and the architecture's number, as a file tells them."""

ZIG_TARGETS = {CORTEX_A72: "aarch64-linux-musl", CORTEX_A15: "arm-linux-musleabihf"}


@contextmanager
def only(linker: str, core: Core, folder: Path) -> Iterator[None]:
    """Leave one linker on the path, which is a folder made here; and no others."""
    triple = core.machine.triple
    tools = {"clang": ["clang", "ld.lld"], "ld": [f"{triple}-ld"], "ziglang": []}
    folder.mkdir()
    for name in tools[linker]:
        path = shutil.which(name)
        assert path, name
        (folder / name).symlink_to(Path(path).resolve())
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", str(folder))
        if linker != "ziglang":
            patch.setattr(importlib.util, "find_spec", lambda name: None)
        yield


def image() -> Array:
    return full_range(np.random.default_rng(0), "int8", (1, digits.SIZE, digits.SIZE, 1))


@cache
def built(target: str) -> Library:
    return library_of(digits.model("int8"), target)


@pytest.fixture(scope="module")
def expected() -> Any:
    return built("host").run(image())


@needs_runtime
@pytest.mark.parametrize("linker", [CLANG, "ld", ZIG])
@on_cores(CORTEX_A72)
def test_a_linked_library_runs(core: Core, linker: str, expected: Array, tmp_path: Path) -> None:
    library = built(core.target_name)
    with only(linker, core, tmp_path / "tools"):
        assert linker in " ".join(find_linker(platform="aarch64-linux-gnu"))
        library.export(tmp_path / "model.so", format="tvm")
    (result,) = run_in_example(tmp_path / "model.so", library.signature, core, [image()])
    np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("linker", [CLANG, "ld", ZIG])
@on_cores(CORTEX_A72, CORTEX_A15)
def test_libraries_are_of_their_architecture(core: Core, linker: str, tmp_path: Path) -> None:
    library = built(core.target_name)
    with only(linker, core, tmp_path / "tools"):
        library.export(tmp_path / "model.so")
        if linker == "clang":
            library.export(tmp_path / "named.so", cc="clang")
    for path in tmp_path.glob("*.so"):
        header = path.read_bytes()[:20]
        assert (header[4], int.from_bytes(header[18:], "little")) == ELF[core]


@pytest.mark.parametrize("linker", [CLANG, ZIG])
@on_cores(CORTEX_A72, CORTEX_A15)
def test_c_files_compile_and_run(core: Core, linker: str, expected: Array, tmp_path: Path) -> None:
    library = built(core.target_name)
    library.export(tmp_path / "model", format="c")
    command = {
        "clang": ["clang", f"--target={core.machine.triple}", "-fuse-ld=lld"],
        "ziglang": [sys.executable, "-m", "ziglang", "cc", "-target", ZIG_TARGETS[core]],
    }
    program = compile_example(tmp_path, "model", *command[linker])
    words: list[str | Path] = [core.machine.emulator, "-cpu", core.name, program]
    ((result,),) = run_example(words, library.signature, [[image()]], tmp_path)
    np.testing.assert_array_equal(result, expected)
