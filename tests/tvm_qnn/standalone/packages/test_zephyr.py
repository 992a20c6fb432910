from __future__ import annotations

from pathlib import Path

from tests.support.packages import NAME, check_cmake, needs_cmake, packed

# What Zephyr's own functions do, as far as a module sees them.
_ZEPHYR = """\
set(CONFIG_NET_MODEL y)
add_library(zephyr_interface INTERFACE)
macro(zephyr_library_named name)
  set(ZEPHYR_CURRENT_LIBRARY ${name})
  add_library(${name} STATIC)
  target_link_libraries(${name} PUBLIC zephyr_interface)
endmacro()
macro(zephyr_library_sources)
  target_sources(${ZEPHYR_CURRENT_LIBRARY} PRIVATE ${ARGN})
endmacro()
macro(zephyr_include_directories)
  foreach(each ${ARGN})
    get_filename_component(path ${each} ABSOLUTE)
    target_include_directories(zephyr_interface INTERFACE ${path})
  endforeach()
endmacro()
add_subdirectory(package)
set(MODEL net_model)
"""


@needs_cmake
def test_zephyr_s_functions_make_a_library(tmp_path: Path) -> None:
    package = tmp_path / "package"
    package.mkdir()
    packed("zephyr", "host", package)
    check_cmake(tmp_path, _ZEPHYR)


def test_the_module_says_where_its_files_are(tmp_path: Path) -> None:
    files = packed("zephyr", "cortex-m4", tmp_path, test_vectors=0)
    assert {"zephyr/module.yml", "CMakeLists.txt", "Kconfig", f"{NAME}.o"} <= set(files)
    assert (tmp_path / "zephyr" / "module.yml").read_text().splitlines() == [
        *("name: net_model", "build:", "  cmake: .", "  kconfig: Kconfig"),
    ]
    option, *rest = (tmp_path / "Kconfig").read_text().splitlines()
    assert option == "config NET_MODEL"
    assert f"if(CONFIG_{option.split()[1]})" in (tmp_path / "CMakeLists.txt").read_text()
    assert all(line.startswith("    ") for line in rest)
