"""A library of PlatformIO."""

from __future__ import annotations

import json

from tvm_qnn.standalone.packages.package import VERSION, Package, library_name, sentence
from tvm_qnn.standalone.sources import Program


def _library(program: Program) -> str:
    return f"lib/lib{library_name(program)}.a"


def _texts(program: Program) -> dict[str, str]:
    manifest = {
        "name": program.prefix,
        "version": VERSION,
        "description": sentence(program),
        "keywords": ["machine learning"],
        "headers": f"{program.prefix}.h",
        "frameworks": "*",
        "platforms": "*",
        "build": {"extraScript": "link.py"},
    }
    return {
        "library.json": f"{json.dumps(manifest, indent=2)}\n",
        "link.py": f"""\
# Links the machine code of the model.
from os.path import realpath

Import("env")
env.Append(LIBPATH=[realpath("lib")], LIBS=["{library_name(program)}"])
""",
    }


PACKAGE = Package(
    _texts, "Cortex-M and 32-bit RISC-V", r"thumb|riscv32", code="src", library=_library
)
