"""The packages, for each build system."""

import json
import re
import shutil
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from tests.support.errors import failing
from tests.support.packages import (
    NAME,
    check_cmake,
    check_static_library,
    needs_cc,
    needs_cmake,
    packed,
)
from tests.support.standalone import check_call
from tvm_qnn.cli.commands.compile import compile_model
from tvm_qnn.standalone.packages import PACKAGES, package_for
from tvm_qnn.target.target import parse_target


def test_the_command_offers_every_package() -> None:
    (option,) = (each for each in compile_model.params if each.name == "package")
    assert list(option.type.choices) == list(PACKAGES)  # type: ignore[attr-defined]


test_a_package_is_for_some_targets = failing(
    lambda name, target: package_for(name, parse_target(target)),
    ("arduino", "riscv32", "'arduino' is for Cortex-M, not for riscv32-unknown-none-elf"),
    ("esp-idf", "cortex-m4", "'esp-idf' is for 32-bit RISC-V, not for thumbv7em-none-eabi"),
    ("zephyr", "x86-avx2", "'zephyr' is for Cortex-M and 32-bit RISC-V, not for"),
    ("arduino", "llvm -mtriple=thumbv7em-none-eabi", "'arduino' needs .* core as -mcpu, got thumb"),
    ("cmsis", "llvm -mtriple=thumbv7em-none-eabi", "'cmsis' needs .* core as -mcpu, got thumb"),
    ("make", "cortex-m4", "package must be one of cmake, arduino, .*, got 'make'"),
)


@pytest.mark.parametrize("target", ["cortex-m0plus", "cortex-m4+hardfloat", "riscv32", "wasm32"])
def test_cmake_is_for_all(target: str) -> None:
    parsed = parse_target(target)
    assert package_for("cmake", parsed) is PACKAGES["cmake"]
    takers = {
        name
        for name, package in PACKAGES.items()
        if re.match(package.triples, str(parsed.attrs["mtriple"]))
    }
    assert ("arduino" in takers) == ("cmsis" in takers) == target.startswith("cortex")


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
@pytest.mark.parametrize(
    ("kind", "project"),
    [
        ("cmake", f"add_subdirectory(package)\nset(MODEL {NAME}_model)"),
        ("zephyr", _ZEPHYR),
        ("esp-idf", _ESP_IDF),
    ],
)
def test_a_part_of_a_project_is_a_library_alone(kind: str, project: str, tmp_path: Path) -> None:
    package = tmp_path / "package"
    package.mkdir()
    packed(kind, "host", package)
    check_cmake(tmp_path, project)
    assert not (tmp_path / "build" / "package" / f"{NAME}_main").exists()


def test_the_maths_library_is_linked_where_it_is_needed(tmp_path: Path) -> None:
    packed("cmake", "cortex-m4", tmp_path, test_vectors=0)
    assert "PUBLIC m)" not in (tmp_path / "CMakeLists.txt").read_text()
    packed("cmake", "wasm32", tmp_path, test_vectors=0)
    assert "PUBLIC m)" in (tmp_path / "CMakeLists.txt").read_text()


# Stands in for Arduino's own headers.
_SKETCH = """\
#include <stdio.h>
struct { void begin(int) {} void println(double value) { printf("%f\\n", value); } } Serial;
void delay(int) {}
#include "SKETCH"
int main() { setup(); loop(); }
"""


def test_the_properties_are_those_that_arduino_asks_for(tmp_path: Path) -> None:
    files = packed("arduino", "cortex-m4", tmp_path, test_vectors=0)
    code = "src/cortex-m4/libnet_code.a"
    assert {code, "src/net.c", "src/net.h", "src/net.hpp", "examples/net/net.ino"} <= set(files)
    assert not list(tmp_path.glob("**/*.o"))
    text = (tmp_path / "library.properties").read_text()
    properties = dict(line.split("=", 1) for line in text.splitlines())
    required = {"name", "version", "author", "maintainer", "sentence", "paragraph"}
    assert properties.keys() >= required | {"category", "url", "architectures"}
    assert properties["name"] == NAME
    assert properties["precompiled"] == "true"
    assert properties["ldflags"] == "-lnet_code"
    assert (tmp_path / "src" / properties["includes"]).is_file()


@needs_cc
def test_the_library_is_linked(tmp_path: Path) -> None:
    (code,) = (file for file in packed("arduino", "host", tmp_path) if file.endswith(".a"))
    check_static_library(tmp_path, tmp_path / code)


@pytest.mark.skipif(not shutil.which("c++"), reason="no C++ compiler c++ on the path")
def test_the_sketch_runs_the_model(tmp_path: Path) -> None:
    (code,) = (file for file in packed("arduino", "host", tmp_path) if file.endswith(".a"))
    sketch = tmp_path / "examples" / NAME / f"{NAME}.ino"
    (tmp_path / "sketch.cpp").write_text(_SKETCH.replace("SKETCH", str(sketch)))
    program, sources = tmp_path / "program", tmp_path / "src"
    check_call(["cc", "-c", "-o", tmp_path / "net.o", sources / "net.c"])
    words = ["c++", "-std=c++11", "-Wall", "-Wextra", "-Werror", f"-I{sources}"]
    files = [tmp_path / name for name in ("sketch.cpp", "net.o", code)]
    check_call([*words, "-o", program, *files, "-lm"])
    assert -128 <= float(check_call([program])) <= 127


def test_the_module_says_where_its_files_are(tmp_path: Path) -> None:
    files = packed("zephyr", "cortex-m4", tmp_path, test_vectors=0)
    assert {"zephyr/module.yml", "CMakeLists.txt", "Kconfig", f"{NAME}.o"} <= set(files)
    assert (tmp_path / "zephyr" / "module.yml").read_text().splitlines() == [
        *("name: net_model", "build:", "  cmake: .", "  kconfig: Kconfig")
    ]
    option, *rest = (tmp_path / "Kconfig").read_text().splitlines()
    assert option == "config NET_MODEL"
    assert f"if(CONFIG_{option.split()[1]})" in (tmp_path / "CMakeLists.txt").read_text()
    assert all(line.startswith("    ") for line in rest)


@pytest.mark.parametrize(
    ("target", "core"), [("cortex-m0plus", "Cortex-M0+"), ("cortex-m55", "Cortex-M55")]
)
def test_the_description_lists_the_files(target: str, core: str, tmp_path: Path) -> None:
    files = packed("cmsis", target, tmp_path, test_vectors=0)
    root = ET.parse(tmp_path / "tvm-qnn.net.pdsc").getroot()
    assert root.findtext("name") == "net"
    listed = {file.attrib["name"]: file.attrib["category"] for file in root.iter("file")}
    assert listed == {"net.h": "header", "net.hpp": "header", "net.c": "source", "net.o": "object"}
    assert listed.keys() <= set(files)
    (condition,) = root.iter("condition")
    (require,) = condition
    assert require.attrib == {"Dcore": core}
    (component,) = root.iter("component")
    assert component.attrib["condition"] == condition.attrib["id"]


class Environment:
    """As far as the script of a library sees it."""

    def __init__(self) -> None:
        self.appended: dict[str, list[str]] = {}

    def Append(self, **values: list[str]) -> None:
        """Record the appended items."""
        self.appended.update(values)


@needs_cc
def test_the_script_links_the_library(tmp_path: Path, monkeypatch: Any) -> None:
    files = packed("platformio", "host", tmp_path)
    manifest = json.loads((tmp_path / "library.json").read_text())
    assert manifest["name"] == "net"
    assert f"src/{manifest['headers']}" in files
    environment = Environment()
    monkeypatch.chdir(tmp_path)  # where PlatformIO runs it
    script = (tmp_path / manifest["build"]["extraScript"]).read_text()
    exec(script, {"Import": lambda name: None, "env": environment})
    (folder,), (name,) = environment.appended["LIBPATH"], environment.appended["LIBS"]
    check_static_library(tmp_path, Path(folder, f"lib{name}.a"))


def test_the_component_says_what_it_is_for(tmp_path: Path) -> None:
    files = packed("esp-idf", "riscv32", tmp_path, test_vectors=0)
    assert {"CMakeLists.txt", "idf_component.yml", f"{NAME}.o"} <= set(files)
    version, description, targets = (tmp_path / "idf_component.yml").read_text().splitlines()
    assert version == 'version: "1.0.0"'
    assert description.startswith('description: "The quantized model net')
    assert "esp32c3" in targets
