"""Programs beside an exported model: one runs it on files, one checks what it computes."""

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from tvm import relax
from tvm.relax import op as R

import tvm_qnn
from qnn_ops.dialect.signature import signature_of
from tests.frontends.tflite.converters.test_variables import ring
from tests.support.modules import module
from tests.support.standalone import check_call, compile_example
from tvm_qnn import digits
from tvm_qnn.build import export_c
from tvm_qnn.oracle import litert_tensors

needs_cc = pytest.mark.skipif(not shutil.which("cc"), reason="no C compiler cc on the path")

FINE = "vectors: every byte of the outputs is as it shall be\n"


def export(content: bytes, target: str, folder: Path, *, arena: bool = False) -> Path:
    mod, params = tvm_qnn.from_tflite(content)
    export_c(mod, target, params, folder / "m", arena=arena, test_vectors=3)
    return folder / "m_test.c"


def compiled(folder: Path) -> Path:
    return compile_example(folder, "m", "cc", main="_test.c")


def array(text: str, name: str) -> list[int]:
    found = re.search(rf"char {name}\[\] = {{([^}}]*)}}", text)
    assert found is not None
    return [*map(int, found[1].split(","))]


@pytest.mark.parametrize("style", digits.STYLES)
def test_the_vectors_are_litert_s(style: str, tmp_path: Path) -> None:
    content = digits.model(style)
    text = export(content, "cortex-m4", tmp_path).read_text()
    (info,) = signature_of(tvm_qnn.from_tflite(content)[0]).inputs
    given = np.array(array(text, "given0"), np.uint8).view(info.dtype).reshape(3, *info.shape)
    wanted = np.array(array(text, "wanted0"), np.uint8).reshape(3, -1)
    for inputs, outputs in zip(given, wanted, strict=True):
        tensors = litert_tensors(content, [inputs])
        assert tensors[max(tensors)].tobytes() == outputs.tobytes()
    assert len({each.tobytes() for each in given}) == 3
    assert len({each.tobytes() for each in wanted}) > 1
    assert "arm-none-eabi-gcc -mcpu=cortex-m4" in text


@needs_cc
@pytest.mark.parametrize(("name", "arena"), [("int8", False), ("a state", True)])
def test_the_program_runs_and_finds_a_changed_byte(name: str, arena: bool, tmp_path: Path) -> None:
    content = ring() if name == "a state" else digits.model(name)
    source = export(content, "host", tmp_path, arena=arena)
    assert check_call([compiled(tmp_path)]) == f"3 {FINE}"
    text = source.read_text()
    wanted = array(text, "wanted0")
    size = len(wanted) // 3
    place = text.index("wanted0[] = {\n") + len("wanted0[] = {\n")
    numbers = text[place : text.index("}", place)].split(",")
    numbers[size + 2] = str(wanted[size + 2] ^ 1)
    changed = text[:place] + ",".join(numbers) + text[text.index("}", place) :]
    source.write_text(changed)
    done = subprocess.run([compiled(tmp_path)], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    right, wrong = wanted[size + 2], wanted[size + 2] ^ 1
    assert done.stdout == f"vector 1: byte 2 of output 0 is {right}, and shall be {wrong}\n"


@needs_cc
def test_several_inputs_and_outputs(tmp_path: Path) -> None:
    def body(x: relax.Var, y: relax.Var) -> list[relax.Expr]:
        return [R.add(x, x), R.maximum(y, R.negative(y)), x]

    types = {"x": relax.TensorType((2, 3), "int8"), "y": relax.TensorType((5,), "int16")}
    export_c(module(types, body), "host", None, tmp_path / "m", test_vectors=2)
    assert check_call([compiled(tmp_path)]) == f"2 {FINE}"
    text = (tmp_path / "m_test.c").read_text()
    assert len(array(text, "given1")) == len(array(text, "wanted1")) == 20
    assert array(text, "wanted2") == array(text, "given0")


def test_without_vectors_there_is_no_program(tmp_path: Path) -> None:
    mod, params = tvm_qnn.from_tflite(digits.model("int8"))
    export_c(mod, "cortex-m4", params, tmp_path / "m")
    assert not (tmp_path / "m_test.c").exists()
