import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tvm import relax, tirx
from tvm.relax import op as R
from tvm.script.ir_builder import IRBuilder
from tvm.script.ir_builder import tirx as T
from tvm_ffi import structural_map

from tests.support import mcu
from tests.support.modules import module
from tests.support.programs import Case
from tvm_qnn.build import export_c
from tvm_qnn.standalone.functions import Compiled, compile_functions
from tvm_qnn.standalone.merging import Merged, _factor
from tvm_qnn.target.target import parse_target


def shuffled(
    size: int,
    step: int,
    start: int,
    low: int,
    *,
    between: int = 8,
    wide: int = 5,
    bits: int = 3,
    first: str = "int32",
) -> Any:
    """Read every step-th number through a buffer of its own, and compute with other constants."""
    with IRBuilder() as builder, T.prim_func(s_tir=True):
        T.func_name("shuffled")
        x = T.arg("x", T.buffer((size * step,), first))
        y = T.arg("y", T.buffer((size,), "int32"))
        own = T.alloc_buffer((between,), "int32")
        with T.serial(between) as j:
            T.buffer_store(own, T.shift_left(T.int32(j), T.int32(bits)), [between - 1 - j])
        with T.serial(size) as i:
            product = T.Cast("int64", x[i * step]) * T.int64(wide)
            value = T.Cast("int32", T.shift_right(product, T.int64(2)))
            T.buffer_store(y, T.max(value + own[i % between] + start, T.int32(low)), [i])
    return builder.get()


def compiled(functions: Mapping[str, Any], core: str = "cortex-m4") -> Compiled:
    return compile_functions(functions, {name: name for name in functions}, parse_target(core))


def merged(*functions: Any, core: str = "cortex-m4") -> Merged:
    named = {f"f{number}": function for number, function in enumerate(functions)}
    return compiled(named, core).merged({name: {"": ()} for name in named})


def with_numbers(function: Any, numbers: tuple[int, ...]) -> Any:
    """Return a function's body with numbers for its last parameters."""
    values = dict(zip(function.params[len(function.params) - len(numbers) :], numbers, strict=True))

    def constant(node: Any) -> Any:
        return tirx.IntImm(node.ty.dtype, values[node]) if node in values else node

    return structural_map(function.body, [(tirx.Var, constant), *FOLDING])


def _folded(compute: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def fold(node: Any) -> Any:
        parts = [node.value] if isinstance(node, tirx.Cast) else [node.a, node.b]
        is_known = all(isinstance(part, tirx.IntImm) for part in parts)
        return tirx.IntImm(node.ty.dtype, compute(node)) if is_known else node

    return fold


FOLDING = [
    (tirx.Mul, _folded(lambda node: int(node.a.value) * int(node.b.value))),
    (tirx.Cast, _folded(lambda node: int(node.value.value))),
]

VARIANTS = [
    shuffled(16, 2, 7, 0),
    shuffled(48, 3, 20, -128, wide=-(2**31)),
    shuffled(32, 5, 128, -(2**31), wide=2**31 - 1, bits=7),
    shuffled(16, 7, 1000, 0, wide=-3, bits=1),
]


@pytest.mark.parametrize("count", range(1, 5))
def test_a_function_with_its_numbers_is_the_one_that_there_was(count: int) -> None:
    found = merged(*VARIANTS[:count])
    assert [*found.functions] == ["f0"]
    alone = {f"f{n}": merged(each).functions["f0"] for n, each in enumerate(VARIANTS)}
    for name, (first, numbers) in found.calls.items():
        assert first == "f0"
        assert (numbers == ()) == (count == 1)
        own = alone[name]
        texts = (str(with_numbers(own, ())), str(with_numbers(found.functions["f0"], numbers)))
        # Shapes of memory are the first one's.
        mine, its = (re.sub(r"decl_buffer\(\(\d+,\)", "decl_buffer(", text) for text in texts)
        assert mine == its


@mcu.emulated
@pytest.mark.parametrize("core", ["cortex-m4", "cortex-m33", "cortex-m55"])
def test_one_function_computes_what_several_did(core: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    parameters: list[tuple[int, int, int, int, dict[str, Any]]] = [
        (16, 2, 7, 0, {}),
        (48, 3, 20, -128, {"wide": -(2**31), "between": 20}),
        (32, 5, 128, -(2**31), {"wide": 2**31 - 1, "bits": 7, "between": 11}),
        (16, 7, 1000, 0, {"wide": -3, "bits": 1}),
        (9, 4, 5, -9, {"wide": 2**40 + 1}),
        (9, 2, 5, 0, {"first": "int8"}),
    ]
    cases, expected = [], []
    for size, step, start, low, rest in parameters:
        dtype = rest.get("first", "int32")
        info = np.iinfo(dtype)
        x = rng.integers(info.min, info.max, size * step, dtype, endpoint=True)
        cases.append(Case(shuffled(size, step, start, low, **rest), [x], (size,), "int32"))
        between = rest.get("between", 8)
        own = (np.arange(between) << rest.get("bits", 3))[::-1]
        products = x[::step].astype(object) * rest.get("wide", 5)
        values = [
            ((int(product) >> 2) + int(own[i % between]) + start + 2**31) % 2**32 - 2**31
            for i, product in enumerate(products)
        ]
        expected.append([max(value, low) for value in values])
    results = mcu.run_cases(core, cases, tmp_path)
    for result, want in zip(results, expected, strict=True):
        assert result.tolist() == want
    # Those of one kind are one function.
    assert (tmp_path / "model.c").read_text().count("\nvoid called_") == 3


@pytest.mark.parametrize(
    "other",
    [
        shuffled(16, 2, 7, 0, first="int8"),
        shuffled(16, 2, 7, 0, wide=2**40),
        shuffled(16, 2, 7, 0).with_attr("tirx.is_entry_func", True),
    ],
    ids=["dtype", "number beyond 32 bits", "attribute"],
)
def test_functions_that_differ_in_more_stay(other: Any) -> None:
    found = merged(VARIANTS[0], other)
    assert [*found.functions] == ["f0", "f1"]
    assert found.calls == {"f0": ("f0", ()), "f1": ("f1", ())}


def lanes(stride: int, count: int) -> Any:
    with IRBuilder() as builder, T.prim_func(s_tir=True):
        T.func_name("lanes")
        x, y = (T.arg(name, T.buffer((64,), "int8")) for name in "xy")
        T.buffer_store(y, x[T.ramp(0, stride, count)], [T.ramp(0, 1, count)])
    return builder.get()


def rotated(bits: int) -> Any:
    with IRBuilder() as builder, T.prim_func(s_tir=True):
        T.func_name("rotated")
        x, y = (T.arg(name, T.buffer((64,), "int32")) for name in "xy")
        value = T.call_llvm_pure_intrin("int32", "llvm.fshr.i32", x[0], x[0], T.int32(bits))
        T.buffer_store(y, value, [0])
    return builder.get()


def test_what_llvm_has_to_know_is_no_argument() -> None:
    """A vector's stride and lanes, and what its own instructions take."""
    assert len(merged(lanes(1, 4), lanes(2, 4)).functions) == 2
    assert len(merged(lanes(2, 4), lanes(2, 8)).functions) == 2
    assert len(merged(rotated(8), rotated(16)).functions) == 2


def test_a_function_s_own_memory_is_that_of_the_one_that_needs_most() -> None:
    names = shuffled(16, 2, 7, 0, between=8), shuffled(16, 2, 7, 0, between=12)
    for functions in (names, names[::-1]):
        found = merged(*functions)
        assert len(found.functions) == 1
        assert "T.alloc_buffer((12,)" in str(found.functions["f0"].body)


def test_numbers_are_multiples_of_few() -> None:
    found = merged(shuffled(16, 2, 32, 5), shuffled(48, 6, 96, 15))
    assert [numbers for _, numbers in found.calls.values()] == [(2, 5), (6, 15)]
    assert [_factor(row, (0, 2, -3)) for row in ((0, -4, 6), (1, 2, -3), (0, 2, -4))] == [-2, 0, 0]


@pytest.mark.parametrize("target", ["cortex-m0plus", "riscv32", "wasm32", "aarch64", "x86-avx2"])
def test_others_have_a_function_for_each(target: str) -> None:
    assert len(merged(*VARIANTS, core=target).functions) == len(VARIANTS)


def test_calls_in_c_pass_the_numbers(tmp_path: Path) -> None:
    mod = module(
        {f"x{size}": relax.TensorType((size,), "float32") for size in (37, 53)},
        lambda *inputs: relax.Tuple([R.multiply(x, x) for x in inputs]),
    )
    export_c(mod, "cortex-m4", None, tmp_path / "m")
    text = (tmp_path / "m.c").read_text()
    (declared,) = re.findall(r"extern void m_0_multiply\w*\((.*)\);", text)
    assert declared == "const void *, const void *, const void *, int32_t"
    calls = re.findall(r"  m_0_multiply\w*\(.*, (\d+)\);", text)
    assert calls == ["37", "53"]
