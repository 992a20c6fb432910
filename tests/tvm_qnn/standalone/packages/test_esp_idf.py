from __future__ import annotations

from pathlib import Path

from tests.support.packages import NAME, check_cmake, needs_cmake, packed

# What ESP-IDF's own function does, as far as a component sees it.
_ESP_IDF = """\
macro(idf_component_register)
  cmake_parse_arguments(each "" "" "SRCS;INCLUDE_DIRS" ${ARGN})
  set(COMPONENT_LIB component)
  add_library(component STATIC ${each_SRCS})
  target_include_directories(component PUBLIC ${each_INCLUDE_DIRS})
endmacro()
add_subdirectory(package)
set(MODEL component)
"""


@needs_cmake
def test_esp_idf_s_function_makes_a_component(tmp_path: Path) -> None:
    package = tmp_path / "package"
    package.mkdir()
    packed("esp-idf", "host", package)
    check_cmake(tmp_path, _ESP_IDF)


def test_the_component_says_what_it_is_for(tmp_path: Path) -> None:
    files = packed("esp-idf", "riscv32", tmp_path, test_vectors=0)
    assert {"CMakeLists.txt", "idf_component.yml", f"{NAME}.o"} <= set(files)
    version, description, targets = (tmp_path / "idf_component.yml").read_text().splitlines()
    assert version == 'version: "1.0.0"'
    assert description.startswith('description: "The quantized model net')
    assert "esp32c3" in targets
