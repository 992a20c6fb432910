import re

import pytest

from tests.tvm_qnn.standalone.test_functions import through_buffer
from tvm_qnn.standalone.functions import compile_functions
from tvm_qnn.standalone.lean import lean
from tvm_qnn.target.target import parse_target


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
