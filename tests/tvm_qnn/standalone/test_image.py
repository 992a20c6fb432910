"""Code and constants of a model in one object file, and a static library of it."""

import re
import shutil
from pathlib import Path

import pytest

from tests.support.packages import NAME, packed
from tests.support.standalone import check_call
from tests.tvm_qnn.standalone.test_functions import through_buffer
from tvm_qnn.standalone.functions import compile_functions
from tvm_qnn.standalone.image import archive, lean
from tvm_qnn.standalone.symbols import offered_symbols
from tvm_qnn.target.target import parse_target


@pytest.mark.parametrize("length", [6, 7])
def test_the_index_leads_to_the_member(length: int) -> None:
    contents, symbols = bytes(range(length)), ["a", "second"]
    made = archive(contents, symbols)
    assert made.startswith(b"!<arch>\n/       ")
    assert len(made) % 2 == 0
    count, *places = (int.from_bytes(made[68 + 4 * i :][:4], "big") for i in range(3))
    assert count == 2
    assert made[80:89] == b"a\0second\0"
    for place in places:
        assert made[place : place + 8] == b"model.o/"
        assert made[place + 60 :][:length] == contents


@pytest.mark.skipif(not shutil.which("nm"), reason="no nm on the path")
def test_tools_read_it(tmp_path: Path) -> None:
    packed("cmake", "host", tmp_path, test_vectors=0)
    contents = (tmp_path / f"{NAME}.o").read_bytes()
    symbols = offered_symbols(contents)
    assert symbols
    assert f"{NAME}_weights" in symbols
    (tmp_path / "net.a").write_bytes(archive(contents, symbols))
    index = check_call(["nm", "--print-armap", tmp_path / "net.a"])
    assert {f"{name} in model.o" for name in symbols} <= set(index.splitlines())


@pytest.mark.parametrize("name", ["cortex-m4", "aarch64", "x86-avx2", "riscv32", "wasm32"])
def test_functions_stand_alone_and_are_not_unwound(name: str) -> None:
    target = parse_target(name)
    functions = {"a": through_buffer(8), "b": through_buffer(9)}
    compiled = compile_functions(functions, {"a": "m_a", "b": "m_b"}, target)
    code = lean(str(compiled.module.inspect_source("ll")), target)
    definitions = re.findall(r"^define .*$", code, re.MULTILINE)
    assert sum("@m_a(" in line or "@m_b(" in line for line in definitions) == 2
    for line in definitions:
        assert " nounwind" in line
        assert (' section "' in line) == (name != "wasm32" or "fp16" in line)
    assert ('section ".text.m_a"' in code) == (name != "wasm32")


@pytest.mark.parametrize("name", ["cortex-m4", "cortex-m55"])
def test_functions_of_cortex_m_align_no_stack(name: str) -> None:
    target = parse_target(name)
    compiled = compile_functions({"a": through_buffer(20)}, {"a": "m_a"}, target)
    before = str(compiled.module.inspect_source("ll"))
    assert re.search(r" = alloca .*align 16", before)
    code = lean(before, target)
    assert re.search(r" = alloca .*align 8", code)
    assert "align 16" not in code


def test_a_function_by_itself_has_no_second_copy() -> None:
    target = parse_target("cortex-m4")
    compiled = compile_functions({"a": through_buffer(8)}, {"a": "m_a"}, target)
    before = str(compiled.module.inspect_source("ll"))
    assert "@__tvm_ffi_main" in before
    assert "@__tvm_ffi_main" not in lean(before, target)
