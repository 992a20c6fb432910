"""Folders of a standalone export in the forms of microcontrollers' build systems."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from string import Template
from typing import Any

import tvm

from qnn_ops.errors import QnnError
from tvm_qnn.io.templates import filled
from tvm_qnn.target.microcontrollers import is_plain_c


@dataclass(frozen=True)
class Package:
    """The form of a folder for a build system.

    Paths may name the facts of ``facts_of``, as ``${prefix}``.

    Attributes:
        templates: the files that describe the folder to the build system: their templates in
            ``templates/packages``, by their paths.
        processors: the processors that it supports, in words; plain C supports all.
        triples: a pattern for the beginning of their targets' triples.
        code: the folder of the sources and headers.
        library: the path of a static library with machine code and weights; empty if they are in
            an object file beside the sources.
    """

    templates: Mapping[str, str]
    processors: str = "any target"
    triples: str = ""
    code: str = ""
    library: str = ""

    def place(self, name: str) -> str:
        """Return the path of a file that a plain export would have in its only folder."""
        is_example = name.endswith(("_main.c", "_test.c"))
        return str(PurePosixPath("examples" if is_example else self.code, name))

    def texts(self, facts: Mapping[str, Any]) -> dict[str, str]:
        """Return the files that describe a model's folder, by their paths."""
        found = {
            Template(path).substitute(facts): filled(
                "tvm_qnn.standalone", f"packages/{template}", facts
            )
            for path, template in self.templates.items()
        }
        return {path: text for path, text in found.items() if text}


PACKAGES = {
    # For CMake's add_subdirectory; it is also a complete project.
    "cmake": Package({"CMakeLists.txt": "cmake/CMakeLists.txt"}),
    "arduino": Package(
        {
            "library.properties": "arduino/library.properties",
            "examples/${prefix}/${prefix}.ino": "arduino/sketch.ino",
        },
        "Cortex-M",
        r"thumb",
        code="src",
        # Arduino looks for a board's code in a folder with the name of the board's build.mcu.
        library="src/${core}/lib${prefix}_code.a",
    ),
    "zephyr": Package(
        {
            "zephyr/module.yml": "zephyr/module.yml",
            "Kconfig": "zephyr/Kconfig",
            "CMakeLists.txt": "zephyr/CMakeLists.txt",
        },
        "Cortex-M and 32-bit RISC-V",
        r"thumb|riscv32",
    ),
    # A CMSIS-Pack: a folder with its description, for cpackget and Arm's tools.
    "cmsis": Package({"tvm-qnn.${prefix}.pdsc": "cmsis/package.pdsc"}, "Cortex-M", r"thumb"),
    "platformio": Package(
        {"library.json": "platformio/library.json", "link.py": "platformio/link.txt"},
        "Cortex-M and 32-bit RISC-V",
        r"thumb|riscv32",
        code="src",
        library="lib/lib${prefix}_code.a",
    ),
    # A component: machine code for Espressif's processors with RISC-V, plain C for all.
    "esp-idf": Package(
        {
            "CMakeLists.txt": "esp-idf/CMakeLists.txt",
            "idf_component.yml": "esp-idf/idf_component.yml",
        },
        "32-bit RISC-V",
        r"riscv32",
    ),
}
"""The packages by the name that `tvm-qnn compile --package` takes."""


def package_for(name: str, target: tvm.target.Target) -> Package:
    """Return the package with a name.

    Raises:
        QnnError: there is none, or it does not fit the target.
    """
    if name not in PACKAGES:
        raise QnnError(f"package must be one of {', '.join(PACKAGES)}, got {name!r}")
    package = PACKAGES[name]
    if is_plain_c(target):
        return package
    triple = str(target.attrs.get("mtriple", ""))
    if not re.match(package.triples, triple):
        raise QnnError(f"the package {name!r} is for {package.processors}, not for {triple}")
    # Packages for nothing but Cortex-M name the core, which the triple does not tell.
    if package.triples == r"thumb" and not target.attrs.get("mcpu"):
        raise QnnError(f"the package {name!r} needs the target's core as -mcpu, got {triple} alone")
    return package
