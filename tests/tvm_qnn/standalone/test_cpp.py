import shutil
from pathlib import Path

import pytest

from tests.frontends.tflite.converters.test_variables import ring
from tests.support.standalone import check_call
from tvm_qnn import digits, from_tflite
from tvm_qnn.build import export_c

_PROGRAM = """\
#include <stdio.h>
#include <string.h>
#include "m.hpp"
VECTORS_OF_C
static m_model model;
int main() {
  RESET
  for (int run = 0; run < VECTORS; run++) {
    memcpy(model.input0(), given0 + run * M_INPUT_0_SIZE, M_INPUT_0_SIZE);
    if (!model.run()) return 1;
    if (memcmp(model.output0(), wanted0 + run * M_OUTPUT_0_SIZE, M_OUTPUT_0_SIZE)) return 2;
  }
  puts("equal");
}
"""


@pytest.mark.skipif(not shutil.which("c++"), reason="no C++ compiler c++ on the path")
@pytest.mark.parametrize(("name", "arena"), [("int8", True), ("a state", False)])
def test_the_class_gives_the_vectors(name: str, arena: bool, tmp_path: Path) -> None:
    has_state = name == "a state"
    mod, params = from_tflite(ring() if has_state else digits.model(name))
    export_c(mod, "host", params, tmp_path / "m", arena=arena, test_vectors=3)
    reset = "if (!model.reset()) return 3;" if has_state else ""
    test = (tmp_path / "m_test.c").read_text()
    vectors = test[test.index("#define VECTORS") : test.index("static _Alignas")]
    text = _PROGRAM.replace("RESET", reset).replace("VECTORS_OF_C", vectors)
    (tmp_path / "program.cpp").write_text(text)
    words = ["c++", "-std=c++11", "-Wall", "-Wextra", "-Werror"]
    check_call(["cc", "-c", "-o", tmp_path / "calls.o", tmp_path / "m.c"])
    objects = [tmp_path / "calls.o", tmp_path / "m.o"]
    program = tmp_path / "program"
    check_call([*words, f"-I{tmp_path}", "-o", program, tmp_path / "program.cpp", *objects, "-lm"])
    assert check_call([program]) == "equal\n"


def test_the_class_says_types(tmp_path: Path) -> None:
    mod, params = from_tflite(digits.model("uint8"))
    export_c(mod, "cortex-m4", params, tmp_path / "m")
    text = (tmp_path / "m.hpp").read_text()
    assert "  uint8_t *input0() { return reinterpret_cast<uint8_t *>(input0_); }\n" in text
    assert "  alignas(M_ALIGNMENT) unsigned char workspace_[M_WORKSPACE_SIZE];\n" in text
    assert "state" not in text
