"""Programs of WebAssembly, linked by zig and run by node."""

import importlib.util
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.standalone import check_call


def needs_wasm(test: Callable[..., None]) -> Callable[..., None]:
    """Mark a test that links and runs WebAssembly."""
    absent = [] if shutil.which("node") else ["node on the path"]
    absent += [] if importlib.util.find_spec("ziglang") else ["package ziglang"]
    skip = pytest.mark.skipif(bool(absent), reason=f"no {' and no '.join(absent)}")
    return pytest.mark.mcu(skip(test))


def link(program: Path, *words: str | Path) -> None:
    """Compile and link a program."""
    compiler = [sys.executable, "-m", "ziglang", "cc", "-target", "wasm32-wasi", "-O2"]
    check_call([*compiler, *words, "-o", program])


def run(script: str, folder: Path) -> str:
    """Return the output of a JavaScript module."""
    (folder / "script.mjs").write_text(script)
    return check_call(["node", "--no-warnings", folder / "script.mjs"], folder)
