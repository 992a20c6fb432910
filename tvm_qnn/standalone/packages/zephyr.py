"""A module of Zephyr."""

from __future__ import annotations

from tvm_qnn.standalone.packages.cmake import AS_OBJECT
from tvm_qnn.standalone.packages.package import Package, sentence
from tvm_qnn.standalone.sources import Program


def _texts(program: Program) -> dict[str, str]:
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
  set_source_files_properties({name}.o {AS_OBJECT})
  zephyr_library_named({name}_model)
  zephyr_library_sources({name}.c {name}.o)
  zephyr_include_directories(.)
endif()
""",
    }


PACKAGE = Package(_texts, "Cortex-M and 32-bit RISC-V", r"thumb|riscv32")
