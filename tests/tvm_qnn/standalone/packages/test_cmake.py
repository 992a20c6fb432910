from __future__ import annotations

from pathlib import Path

from tests.support.packages import NAME, check_cmake, needs_cmake, packed
from tests.support.standalone import check_call


@needs_cmake
def test_a_project_by_itself_tests_the_model(tmp_path: Path) -> None:
    files = packed("cmake", "host", tmp_path)
    assert files == sorted(
        [
            *(f"{NAME}.{end}" for end in ("c", "h", "hpp", "o")),
            *("CMakeLists.txt", f"examples/{NAME}_main.c", f"examples/{NAME}_test.c"),
        ]
    )
    assert all((tmp_path / file).is_file() for file in files)
    build = tmp_path / "build"
    check_call(["cmake", "-S", tmp_path, "-B", build])
    check_call(["cmake", "--build", build])
    assert "100% tests passed" in check_call(["ctest", "--test-dir", build])
    assert (build / f"{NAME}_main").exists()


@needs_cmake
def test_a_part_of_another_project_is_a_library_alone(tmp_path: Path) -> None:
    package = tmp_path / "package"
    package.mkdir()
    packed("cmake", "host", package)
    check_cmake(tmp_path, f"add_subdirectory(package)\nset(MODEL {NAME}_model)")
    assert not (tmp_path / "build" / "package" / f"{NAME}_main").exists()


def test_the_maths_library_is_linked_where_it_is_needed(tmp_path: Path) -> None:
    packed("cmake", "cortex-m4", tmp_path, test_vectors=0)
    assert "PUBLIC m)" not in (tmp_path / "CMakeLists.txt").read_text()
    packed("cmake", "wasm32", tmp_path, test_vectors=0)
    assert "PUBLIC m)" in (tmp_path / "CMakeLists.txt").read_text()
