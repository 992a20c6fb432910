"""A folder for CMake's add_subdirectory, which is a project by itself, too."""

from __future__ import annotations

from tvm_qnn.standalone.packages.package import EXAMPLES, Package
from tvm_qnn.standalone.sources import Program

_OF_EVERY_C = {"memcpy", "memset", "memmove", "memcmp"}

AS_OBJECT = "PROPERTIES EXTERNAL_OBJECT ON GENERATED ON"
"""What CMake shall know of an object file among the sources."""


def _texts(program: Program) -> dict[str, str]:
    name = program.prefix
    target = f"{name}_model"
    needs_maths = program.needs is None or set(program.needs) - _OF_EVERY_C
    maths = f"target_link_libraries({target} PUBLIC m)\n" if needs_maths else ""
    return {
        "CMakeLists.txt": f"""\
cmake_minimum_required(VERSION 3.16)
project({target} LANGUAGES C)

# The model: {name}.h and {name}.hpp say how to call it.
set_source_files_properties({name}.o {AS_OBJECT})
add_library({target} STATIC {name}.c {name}.o)
target_include_directories({target} PUBLIC "${{CMAKE_CURRENT_SOURCE_DIR}}")
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


PACKAGE = Package(_texts)
