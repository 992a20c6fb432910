import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tvm import tirx
from tvm.script.ir_builder import IRBuilder
from tvm.script.ir_builder import tirx as T

from qnn_ops.errors import QnnError
from tests.support.plain_c import SANITIZERS, WARNINGS, needs_gcc
from tvm_qnn.standalone.c99 import write_functions
from tvm_qnn.standalone.c99.source import Source, c_number, c_type
from tvm_qnn.standalone.functions import compile_functions
from tvm_qnn.target.target import parse_target

VALUES = {
    "int8": (-128, -77, -1, 0, 1, 127),
    "int16": (-32768, -1, 0, 9, 32767),
    "int32": (-1000, -7, 0, 3, 46000),
    "uint8": (0, 1, 200, 255),
    "float32": (-2.5, -0.0, 0.1, 3e38),
}


def elementwise(value: Any, dtype: str, result: str) -> Any:
    """Write a function that computes each element of y from that of x."""
    count = len(VALUES[dtype])
    with IRBuilder() as builder, T.prim_func(s_tir=True):
        T.func_name("f")
        x = T.arg("x", T.buffer((count,), dtype))
        y = T.arg("y", T.buffer((count,), result))
        with T.serial(count) as i:
            T.buffer_store(y, value(x[i]), [i])
    return builder.get()


def in_c(function: Any) -> Source:
    target = parse_target("c")
    compiled = compile_functions({"f": function}, {"f": "f"}, target)
    return write_functions("p", compiled.merged({"f": {"": ()}}).functions, {"f": "a test"})


def run(source: Source, dtype: str, result: str, folder: Path) -> Any:
    """Compile a function and return what it makes of ``VALUES``."""
    values = np.array(VALUES[dtype], dtype)
    numbers = ", ".join(c_number(value, dtype) for value in values.tolist())
    (folder / "f.c").write_text(
        "#include <math.h>\n#include <stdint.h>\n#include <stdio.h>\n#include <string.h>\n"
        f"{source.text}\nint main(void) {{\n  const {c_type(dtype)} x[] = {{{numbers}}};\n"
        f"  {c_type(result)} y[{len(values)}];\n  f(x, y);\n"
        "  return fwrite(y, sizeof y, 1, stdout) != 1;\n}\n"
    )
    command = ["gcc", *WARNINGS, *SANITIZERS, "-o", str(folder / "f"), str(folder / "f.c"), "-lm"]
    subprocess.run(command, check=True)
    done = subprocess.run([folder / "f"], check=True, capture_output=True)
    return values, np.frombuffer(done.stdout, result)


# ruff: noqa: E501
CASES = [
    ("int8", "int8", lambda x: x + x, lambda x: x + x),
    ("int8", "int8", lambda x: -x, lambda x: -x),
    ("uint8", "uint8", lambda x: x * x, lambda x: x * x),
    ("int16", "int32", lambda x: T.shift_left(T.Cast("int32", x), 3), lambda x: x.astype("i4") * 8),
    ("int32", "int32", lambda x: T.shift_right(x, 2), lambda x: x >> 2),
    ("int32", "int32", lambda x: T.floordiv(x, 7), lambda x: x // 7),
    ("int32", "int32", lambda x: T.floormod(x, -7), lambda x: x % -7),
    ("int32", "int8", lambda x: T.Cast("int8", T.max(T.min(x, 127), -128)), lambda x: x.clip(-128, 127)),
    ("int32", "bool", lambda x: T.And(x < 3, T.Not(x == -7)), lambda x: (x < 3) & (x != -7)),
    ("int32", "int64", lambda x: T.Cast("int64", x) * T.int64(1 << 40), lambda x: x.astype("i8") << 40),
    ("int32", "int64", lambda x: T.Cast("int64", x) * T.int64(2**60) + T.Cast("int64", x), lambda x: (x.astype("i8") << 60) + x),
    ("int32", "int32", lambda x: x * x * 3 + x, lambda x: x * x * 3 + x),
    ("int32", "int64", lambda x: T.Cast("int64", T.Cast("uint32", x)) * T.Cast("int64", T.Cast("uint32", x)), lambda x: x.astype("u4").astype("i8") ** 2),
    ("int16", "int16", lambda x: T.bitwise_xor(x, T.int16(85)), lambda x: x ^ 85),
    ("int16", "int16", lambda x: T.bitwise_not(x), lambda x: ~x),
    ("float32", "float32", lambda x: T.fabs(x) * T.float32(0.1), lambda x: abs(x) * np.float32(0.1)),
    ("float32", "int32", lambda x: T.reinterpret("int32", x), lambda x: x.view("i4")),
    ("float32", "float32", lambda x: T.floor(x), np.floor),
    ("float32", "float32", lambda x: T.truncmod(x, T.float32(0.7)), lambda x: np.fmod(x, np.float32(0.7))),
    ("float32", "float32", lambda x: T.if_then_else(x < T.float32(0), T.float32(-np.inf), x), lambda x: np.where(x < 0, -np.inf, x)),
]  # fmt: skip


@needs_gcc
@pytest.mark.parametrize(("dtype", "result", "written", "meant"), CASES)
def test_an_expression_has_the_value_of_tir(
    dtype: str, result: str, written: Any, meant: Any, tmp_path: Path
) -> None:
    source = in_c(elementwise(written, dtype, result))
    x, y = run(source, dtype, result, tmp_path)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(y, meant(x).astype(result))


def test_a_function_says_what_it_reads_writes_and_computes() -> None:
    text = in_c(elementwise(lambda x: x + T.int8(1), "int8", "int8")).text
    assert " * a test\n * x: const int8_t [6]\n * y: int8_t [6]\n" in text
    assert "static void f(const void *argument_0, void *argument_1) {" in text
    assert "y[v] = (int8_t)(x[v] + 1);" in text
    text = in_c(elementwise(lambda x: T.Cast("int64", x) * T.int64(9), "int32", "int64")).text
    assert "y[v] = ((int64_t)x[v]) * 9LL;" in text
    text = in_c(elementwise(lambda x: T.Cast("int32", x) * 9 - 3, "int16", "int32")).text
    assert "y[v] = (((int32_t)x[v]) * 9) - 3;" in text


@needs_gcc
def test_what_a_choice_guards_stays_behind_it(tmp_path: Path) -> None:
    def value(data: Any, index: Any) -> Any:
        first, second = (tirx.Var(name, "int32") for name in ("first", "second"))
        inner = tirx.Let(second, first * 2, second + second)
        guarded = tirx.Let(first, data[index * 3], inner)
        return T.if_then_else(index < 2, guarded, T.int32(0))

    with IRBuilder() as builder, T.prim_func(s_tir=True):
        T.func_name("f")
        x = T.arg("x", T.buffer((5,), "int32"))
        y = T.arg("y", T.buffer((5,), "int32"))
        with T.serial(5) as i:
            T.buffer_store(y, value(x, i), [i])
    x, y = run(in_c(builder.get()), "int32", "int32", tmp_path)
    np.testing.assert_array_equal(y, [4 * x[0], 4 * x[3], 0, 0, 0])


def test_declarations_of_one_type_share_lines() -> None:
    with IRBuilder() as builder, T.prim_func(s_tir=True):
        T.func_name("f")
        y = T.arg("y", T.buffer((9,), "int32"))
        for number in range(9):
            scalar = T.alloc_buffer((1 + number // 8,), "int8" if number == 7 else "int32")
            T.buffer_store(scalar, T.Cast(scalar.dtype, y[number]), [0])
            T.buffer_store(y, T.Cast("int32", scalar[0]), [number])
    text = in_c(builder.get()).text
    declared = "  int32_t v, v_1, v_2, v_3, v_4, v_5, v_6;\n  int8_t v_7;\n  int32_t v_8;\n"
    assert declared in text


def test_compilers_have_nothing_to_warn_of() -> None:
    # which clang warns of
    with IRBuilder() as builder, T.prim_func(s_tir=True):
        T.func_name("f")
        y = T.arg("y", T.buffer((2,), "int32"))
        T.buffer_store(y, y[0], [0])
        T.buffer_store(y, y[0], [1])
    text = in_c(builder.get()).text
    assert "y[0] = y[0];" not in text
    assert "y[1] = y[0];" in text
    with IRBuilder() as builder, T.prim_func(s_tir=True):
        T.func_name("f")
        tensors = [T.arg(f"x{n}", T.buffer((1,), "int32")) for n in range(12)]
        T.buffer_store(tensors[11], T.int32(1), [0])
    text = in_c(builder.get()).text
    assert "(void)argument_1;" in text
    assert "(void)argument_11;" not in text


def test_what_c_lacks_is_an_error() -> None:
    with pytest.raises(QnnError, match="plain C has no float16"):
        in_c(elementwise(lambda x: T.Cast("float16", x), "int8", "float16"))
    with pytest.raises(QnnError, match=r"plain C has no tirx\.popcount of the function f"):
        in_c(elementwise(lambda x: T.Cast("int32", T.popcount(x)), "int32", "int32"))
