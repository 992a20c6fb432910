"""Packages of a small model, for this machine and for others, and programs of them."""

import shutil
from pathlib import Path

import pytest

from tests.support.standalone import check_call
from tests.support.tflite import Q, fixed, one, x
from tvm_qnn import from_tflite
from tvm_qnn.build import export_c
from tvm_qnn.standalone.packages import PACKAGES

NAME = "net"
_MODEL = one("ADD", x(1, 8), fixed([range(8)], "int8", Q)).model()

needs_cc = pytest.mark.skipif(not shutil.which("cc"), reason="no C compiler cc on the path")
needs_cmake = pytest.mark.skipif(
    not shutil.which("cmake") or not shutil.which("cc"), reason="no cmake and cc on the path"
)


def packed(kind: str, target: str, folder: Path, *, test_vectors: int = 2) -> list[str]:
    """Write a package, on any target; return its files' paths."""
    mod, params = from_tflite(_MODEL)
    package = PACKAGES[kind]
    return export_c(mod, target, params, folder / NAME, test_vectors=test_vectors, package=package)


def check_vectors(program: Path) -> None:
    """Check that a program of test vectors finds no difference."""
    assert check_call([program]).startswith("2 vectors: every byte")


def check_static_library(folder: Path, library: Path) -> None:
    """Check that a program of a package's sources and its static library runs."""
    sources = [folder / "src" / f"{NAME}.c", folder / "examples" / f"{NAME}_test.c"]
    place = [f"-I{folder / 'src'}", f"-L{library.parent}"]
    code = library.name.removeprefix("lib").removesuffix(".a")
    program = folder / "program"
    check_call(["cc", "-O1", "-o", program, *sources, *place, f"-l{code}", "-lm"])
    check_vectors(program)


def check_cmake(folder: Path, project: str) -> None:
    """Check that a project of CMake that takes a package as ``package`` makes its test program."""
    lines = ["cmake_minimum_required(VERSION 3.16)", "project(app C)", project]
    lines += [
        f"add_executable(program package/examples/{NAME}_test.c)",
        "target_link_libraries(program PRIVATE ${MODEL} m)",
        "target_include_directories(program PRIVATE package)",
    ]
    (folder / "CMakeLists.txt").write_text("\n".join(lines))
    check_call(["cmake", "-S", folder, "-B", folder / "build"])
    check_call(["cmake", "--build", folder / "build"])
    check_vectors(folder / "build" / "program")
