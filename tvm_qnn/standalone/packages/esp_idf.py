"""A component of ESP-IDF, for Espressif's processors with RISC-V."""

from __future__ import annotations

import json

from tvm_qnn.standalone.packages.cmake import AS_OBJECT
from tvm_qnn.standalone.packages.package import VERSION, Package, sentence
from tvm_qnn.standalone.sources import Program


def _texts(program: Program) -> dict[str, str]:
    name = program.prefix
    return {
        "CMakeLists.txt": f"""\
idf_component_register(SRCS {name}.c INCLUDE_DIRS .)
set_source_files_properties({name}.o {AS_OBJECT})
target_sources(${{COMPONENT_LIB}} PRIVATE {name}.o)
""",
        "idf_component.yml": f"""\
version: "{VERSION}"
description: {json.dumps(sentence(program))}
targets: [esp32c2, esp32c3, esp32c5, esp32c6, esp32h2]
""",
    }


PACKAGE = Package(_texts, "32-bit RISC-V", r"riscv32")
