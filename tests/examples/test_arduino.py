"""`examples/arduino`: the digits as a library for Arduino."""

import re
import shutil
from pathlib import Path

import pytest

from tests.support.plain_c import SANITIZERS, WARNINGS
from tests.support.standalone import check_call
from tools.arduino_example import FOLDER, write

# Stands in for Arduino's own headers.
_AROUND = """\
#include <stdio.h>
#include <stdlib.h>
struct {
  void begin(long) {}
  void print(const char *text) { printf("%s", text); }
  void print(int number) { printf("%d", number); }
  void println(int number) { printf("%d\\n", number); }
} Serial;
void delay(unsigned long) {}
#include "classify.ino"
int main() { setup(); loop(); }
"""


def test_the_library_is_what_the_script_writes(tmp_path: Path) -> None:
    write(tmp_path)
    made, kept = (
        {str(path.relative_to(folder)): path.read_text("utf-8") for path in folder.rglob("*.*")}
        for folder in (tmp_path, FOLDER)
    )
    assert made.keys() == kept.keys()
    # `python -m tools.arduino_example` writes it anew.
    assert [name for name in made if made[name] != kept[name]] == []


@pytest.mark.skipif(not shutil.which("g++"), reason="no C++ compiler g++ on the path")
def test_the_sketch_sees_the_digits(tmp_path: Path) -> None:
    sketch, program = FOLDER / "examples" / "classify", tmp_path / "program"
    (tmp_path / "sketch.cpp").write_text(_AROUND)
    objects = []
    for source in sorted((FOLDER / "src").glob("*.c")):
        objects.append(tmp_path / f"{source.stem}.o")
        check_call(["gcc", *WARNINGS, *SANITIZERS, "-c", "-o", objects[-1], source])
    line = ["g++", "-std=c++11", *WARNINGS[1:], *SANITIZERS, f"-I{sketch}", f"-I{FOLDER / 'src'}"]
    check_call([*line, "-o", program, tmp_path / "sketch.cpp", *objects])
    lines = check_call([program]).splitlines()
    seen = [re.fullmatch(r"a (\d), seen as (\d)", line) for line in lines]
    assert [found[1] for found in seen if found] == list("0123456789")
    assert all(found and found[1] == found[2] for found in seen)


def test_the_library_is_one_of_arduino() -> None:
    text = (FOLDER / "library.properties").read_text("utf-8")
    properties = dict(line.split("=", 1) for line in text.splitlines())
    assert properties["name"] == FOLDER.name
    assert (FOLDER / "src" / properties["includes"]).is_file()
    sketches = [path.stem == path.parent.name for path in (FOLDER / "examples").glob("*/*.ino")]
    assert sketches == [True]
