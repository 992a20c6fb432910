from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.support.packages import NAME, check_static_library, needs_cc, packed
from tests.support.standalone import check_call

# What a sketch finds around it.
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
