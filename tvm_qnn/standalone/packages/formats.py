"""The forms of packages: the files that each build system needs."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from tvm_qnn.standalone.cpp import class_name
from tvm_qnn.standalone.program import Program

VERSION = "1.0.0"
"""The version of every package; a publisher of a model replaces it with the model's own."""

EXAMPLES = "examples"
"""The folder with programs that call the model."""


@dataclass(frozen=True)
class Package:
    """The form of a folder for a build system.

    Attributes:
        texts: the files that describe the folder to the build system, by their paths.
        processors: the processors that it supports, in words; plain C supports all.
        triples: a pattern for the beginning of their targets' triples.
        code: the folder of the sources and headers.
        library: the path of a static library with machine code and weights; None: they are in an
            object file beside the sources.
    """

    texts: Callable[[Program], Mapping[str, str]]
    processors: str = "any target"
    triples: str = ""
    code: str = ""
    library: Callable[[Program], str] | None = None

    def place(self, name: str) -> str:
        """Return the path of a file that a plain export would have in its only folder."""
        is_example = name.endswith(("_main.c", "_test.c"))
        return str(PurePosixPath(EXAMPLES if is_example else self.code, name))


def library_name(program: Program) -> str:
    """Return the linkers' name of a model's machine code: the word after -l."""
    return f"{program.prefix}_code"


def sentence(program: Program) -> str:
    """Return a sentence about the package."""
    return f"The quantized model {program.prefix}, compiled by tvm-qnn for {program.machine}."


_OF_EVERY_C = {"memcpy", "memset", "memmove", "memcmp"}

_AS_OBJECT = "PROPERTIES EXTERNAL_OBJECT ON GENERATED ON"


def _known_to_cmake(program: Program, indent: str = "") -> str:
    """Return the line by which CMake knows an object file among the sources, if there is one."""
    objects = [name for name in program.units if name.endswith(".o")]
    return "".join(f"{indent}set_source_files_properties({n} {_AS_OBJECT})\n" for n in objects)


def _cmake_texts(program: Program) -> dict[str, str]:
    name = program.prefix
    target = f"{name}_model"
    needs_maths = program.needs is None or set(program.needs) - _OF_EVERY_C
    maths = f"target_link_libraries({target} PUBLIC m)\n" if needs_maths else ""
    return {
        "CMakeLists.txt": f"""\
cmake_minimum_required(VERSION 3.16)
project({target} LANGUAGES C)

# The model: {name}.h and {name}.hpp say how to call it.
{_known_to_cmake(program)}add_library({target} STATIC {" ".join(program.units)})
target_include_directories({target} PUBLIC "${{CMAKE_CURRENT_SOURCE_DIR}}")
set_target_properties({target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
{maths}
if(CMAKE_SOURCE_DIR STREQUAL CMAKE_CURRENT_SOURCE_DIR)
  enable_testing()
  add_executable({name}_main {EXAMPLES}/{name}_main.c)
  target_link_libraries({name}_main PRIVATE {target})
  if(EXISTS "${{CMAKE_CURRENT_SOURCE_DIR}}/{EXAMPLES}/{name}_test.c")
    add_executable({name}_test {EXAMPLES}/{name}_test.c)
    target_link_libraries({name}_test PRIVATE {target})
    add_test(NAME {name}_test COMMAND {name}_test)
  endif()
endif()
"""
    }


CMAKE = Package(_cmake_texts)
"""A folder for CMake's add_subdirectory; it is also a complete project."""


def _arduino_library(program: Program) -> str:
    # Arduino looks for a board's code in a folder with the name of the board's build.mcu.
    core = program.target.attrs["mcpu"]
    return f"src/{core}/lib{library_name(program)}.a"


def _arduino_texts(program: Program) -> dict[str, str]:
    name = program.prefix
    precompiled = f"precompiled=true\nldflags=-l{library_name(program)}\n"
    precompiled = precompiled if program.code is None else ""
    return {
        "library.properties": f"""\
name={name}
version={VERSION}
author=tvm-qnn
maintainer=tvm-qnn
sentence={sentence(program)}
paragraph=It needs no heap and no operating system.
category=Data Processing
url=
architectures=*
includes={name}.hpp
{precompiled}""",
        f"{EXAMPLES}/{name}/{name}.ino": f"""\
// Runs the model once a second.
#include <{name}.hpp>

static {class_name(program)} model;

void setup() {{
  Serial.begin(115200);
}}

void loop() {{
  // Write the input here: {program.macro}_INPUT_0_SIZE bytes at model.input0().
  if (model.run()) Serial.println(static_cast<double>(model.output0()[0]));
  delay(1000);
}}
""",
    }


ARDUINO = Package(_arduino_texts, "Cortex-M", r"thumb", code="src", library=_arduino_library)
"""A library for Arduino, with machine code or plain C."""


def _zephyr_texts(program: Program) -> dict[str, str]:
    name, option = program.prefix, f"{program.macro}_MODEL"
    return {
        "zephyr/module.yml": f"""\
name: {name}_model
build:
  cmake: .
  kconfig: Kconfig
""",
        "Kconfig": f"""\
config {option}
    bool "The model {name}"
    default y
    help
      {sentence(program)}
""",
        "CMakeLists.txt": f"""\
if(CONFIG_{option})
{_known_to_cmake(program, "  ")}  zephyr_library_named({name}_model)
  zephyr_library_sources({" ".join(program.units)})
  zephyr_include_directories(.)
endif()
""",
    }


ZEPHYR = Package(_zephyr_texts, "Cortex-M and 32-bit RISC-V", r"thumb|riscv32")
"""A module of Zephyr."""


_SCHEMA = "1.7.7"
_KINDS = {"h": "header", "hpp": "header", "c": "source", "o": "object"}


def _condition(program: Program) -> str:
    """Return the cores that run the machine code, in a pack's form; empty for plain C."""
    if program.code is not None:
        return ""
    # The packs of devices name their cores so: Cortex-M0+, Cortex-M4.
    core = str(program.target.attrs["mcpu"]).replace("plus", "+").title()
    return f"""\
  <conditions>
    <condition id="core">
      <require Dcore={quoteattr(core)}/>
    </condition>
  </conditions>
"""


def _cmsis_texts(program: Program) -> dict[str, str]:
    name = program.prefix
    condition = _condition(program)
    names = (f"{name}.h", f"{name}.hpp", *program.units)
    files = "\n".join(
        f'        <file category="{_KINDS[each.rpartition(".")[2]]}" name="{each}"/>'
        for each in names
    )
    described = f"<description>{escape(sentence(program))}</description>"
    return {
        f"tvm-qnn.{name}.pdsc": f"""\
<?xml version="1.0" encoding="UTF-8"?>
<package schemaVersion="{_SCHEMA}">
  <vendor>tvm-qnn</vendor>
  <name>{name}</name>
  {described}
  <url/>
  <releases>
    <release version="{VERSION}">As it was compiled.</release>
  </releases>
{condition}  <components>
    <component Cclass="Machine Learning" Cgroup="Model" Csub="{name}" Cversion="{VERSION}"\
{' condition="core"' if condition else ""}>
      {described}
      <files>
{files}
      </files>
    </component>
  </components>
</package>
"""
    }


CMSIS = Package(_cmsis_texts, "Cortex-M", r"thumb")
"""A CMSIS-Pack: a folder with its description, for cpackget and Arm's tools."""


def _platformio_texts(program: Program) -> dict[str, str]:
    manifest: dict[str, Any] = {
        "name": program.prefix,
        "version": VERSION,
        "description": sentence(program),
        "keywords": ["machine learning"],
        "headers": f"{program.prefix}.h",
        "frameworks": "*",
        "platforms": "*",
    }
    if program.code is not None:
        return {"library.json": f"{json.dumps(manifest, indent=2)}\n"}
    manifest["build"] = {"extraScript": "link.py"}
    return {
        "library.json": f"{json.dumps(manifest, indent=2)}\n",
        "link.py": f"""\
# Links the machine code of the model.
from os.path import realpath

Import("env")
env.Append(LIBPATH=[realpath("lib")], LIBS=["{library_name(program)}"])
""",
    }


PLATFORMIO = Package(
    _platformio_texts,
    "Cortex-M and 32-bit RISC-V",
    r"thumb|riscv32",
    code="src",
    library=lambda program: f"lib/lib{library_name(program)}.a",
)
"""A library of PlatformIO."""


def _esp_idf_texts(program: Program) -> dict[str, str]:
    name = program.prefix
    sources, code, targets = " ".join(program.units), "", ""
    if program.code is None:
        sources = f"{name}.c"
        code = f"{_known_to_cmake(program)}target_sources(${{COMPONENT_LIB}} PRIVATE {name}.o)\n"
        targets = "targets: [esp32c2, esp32c3, esp32c5, esp32c6, esp32h2]\n"
    return {
        "CMakeLists.txt": f"idf_component_register(SRCS {sources} INCLUDE_DIRS .)\n{code}",
        "idf_component.yml": f"""\
version: "{VERSION}"
description: {json.dumps(sentence(program))}
{targets}""",
    }


ESP_IDF = Package(_esp_idf_texts, "32-bit RISC-V", r"riscv32")
"""A component of ESP-IDF: machine code for Espressif's processors with RISC-V, plain C for all."""
