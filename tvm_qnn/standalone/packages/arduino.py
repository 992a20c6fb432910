"""A library for Arduino, with its machine code compiled before."""

from __future__ import annotations

from tvm_qnn.standalone.cpp import class_name
from tvm_qnn.standalone.packages.package import (
    EXAMPLES,
    VERSION,
    Package,
    library_name,
    sentence,
)
from tvm_qnn.standalone.sources import Program


def _library(program: Program) -> str:
    # Where Arduino looks for the code of a board is named as the board's build.mcu is.
    core = program.target.attrs["mcpu"]
    return f"src/{core}/lib{library_name(program)}.a"


def _texts(program: Program) -> dict[str, str]:
    name = program.prefix
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
precompiled=true
ldflags=-l{library_name(program)}
""",
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


PACKAGE = Package(_texts, "Cortex-M", r"thumb", code="src", library=_library)
