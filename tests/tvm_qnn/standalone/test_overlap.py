import ctypes
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tvm import tirx
from tvm.script.ir_builder import IRBuilder
from tvm.script.ir_builder import tirx as T

from legalize.kernels.isa.helium import UNSEEN_CODE, unseen_index
from legalize.kernels.isa.helium_columns import (
    NUMBERS,
    SPREAD_CODE,
    Kind,
    channels_of,
    convolve,
    spread,
)
from legalize.kernels.isa.helium_copies import COPIES_CODE, copy_rows, store_some
from legalize.kernels.isa.helium_tiles import Outputs, compute_tile, tile_of
from legalize.kernels.isa.mcu import WORDS_CODE, importing, number, words_of
from tests.support.errors import giving
from tests.support.standalone import check_call
from tvm_qnn.standalone.functions import compile_functions
from tvm_qnn.standalone.overlap import leads, size_of_buffer
from tvm_qnn.standalone.shared import with_shared_memory
from tvm_qnn.target.objects import object_of
from tvm_qnn.target.target import parse_target

Buffers = list[Any]

HOST = parse_target("host")


def function(
    sizes: list[tuple[int, str]], write: Callable[[Buffers], None], **attrs: object
) -> tirx.PrimFunc:
    """Write a function of buffers of these lengths and dtypes."""
    with IRBuilder() as builder, T.prim_func(s_tir=True):
        T.func_name("f")
        T.func_attr({"tirx.noalias": True, **attrs})
        names = [f"b{i}" for i in range(len(sizes))]
        arguments = zip(names, sizes, strict=True)
        write([T.arg(name, T.buffer((size,), dtype)) for name, (size, dtype) in arguments])
    return builder.get()


def lead(sizes: list[tuple[int, str]], write: Callable[[Buffers], None]) -> int:
    return leads(function(sizes, write), 4)[0, 1]


def every(step: int, offset: int = 0, turns: int = 8) -> Callable[[Buffers], None]:
    """Store to element i what is in the element ``step * i + offset``."""

    def write(buffers: Buffers) -> None:
        source, target = buffers
        with T.serial(turns) as i:
            T.buffer_store(target, source[i * step + offset], [i])

    return write


def backwards(buffers: Buffers) -> None:
    source, target = buffers
    with T.serial(8) as i:
        T.buffer_store(target, source[7 - i], [i])


def window(buffers: Buffers) -> None:
    """Add three neighbours, at the edges those that are there."""
    source, target = buffers
    with T.serial(8) as i:
        T.buffer_store(target, T.int8(0), [i])
        with T.serial(3) as j:
            inside = T.And(i + j >= 1, i + j < 9)
            with T.If(inside), T.Then():
                T.buffer_store(target, target[i] + source[i + j - 1], [i])


def all_before_any(buffers: Buffers) -> None:
    source, target = buffers
    kept = T.alloc_buffer((8,), "int8")
    with T.serial(8) as i:
        T.buffer_store(kept, source[i], [i])
    with T.serial(8) as j:
        T.buffer_store(target, kept[7 - j], [j])


def last_pixels_again(buffers: Buffers) -> None:
    """Three at a time, as kernels do; the last three share one with those before."""
    source, target = buffers
    first = T.alloc_buffer((1,), "int32")
    kept = T.alloc_buffer((3,), "int8")
    with T.serial(3) as tile:
        T.buffer_store(first, T.min(tile * 3, 5), [0])
        with T.serial(3) as i:
            T.buffer_store(kept, source[first[0] + i], [i])
        with T.serial(3) as j:
            T.buffer_store(target, kept[j], [first[0] + j])


def counter(buffers: Buffers) -> None:
    """Read at an index that each iteration computes from the one before, which is not followed."""
    source, target = buffers
    place = T.alloc_buffer((1,), "int32")
    T.buffer_store(place, T.int32(7), [0])
    with T.serial(8) as i:
        T.buffer_store(target, source[place[0]], [i])
        T.buffer_store(place, place[0] - 1, [0])


def vectors(buffers: Buffers) -> None:
    source, target = buffers
    with T.serial(2) as i:
        T.buffer_store(target, source[T.ramp(i * 4, 1, 4)], [T.ramp(i * 4, 1, 4)])


def words(buffers: Buffers) -> None:
    """Read two registers by a call, and store a byte of the second one."""
    source, target = buffers
    with importing(WORDS_CODE), T.serial(8) as i:
        _, second = words_of(source, i * 4, 2)
        T.buffer_store(target, T.Cast("int8", second), [i])


def hidden_places(buffers: Buffers) -> None:
    """Read bytes at an address that LLVM does not know, in an unknown number of iterations."""
    source, target = buffers
    with importing(UNSEEN_CODE):
        place, turns = unseen_index(T.int32(4)), unseen_index(T.int32(8))
        with T.serial(turns) as i:
            T.buffer_store(target, source[place + i * 4], [i])


BYTES = [(8, "int8"), (8, "int8")]


CASES = [
    (BYTES, every(1), 0),
    ([(16, "int8"), (8, "int8")], every(2), -1),
    ([(16, "int8"), (8, "int8")], every(1, 8), -8),
    ([(8, "int32"), (8, "int32")], every(1), 0),
    (BYTES, backwards, 7),
    (BYTES, window, 2),
    (BYTES, all_before_any, -8),
    (BYTES, last_pixels_again, 1),
    (BYTES, counter, 7),
    (BYTES, vectors, 0),
    ([(36, "int8"), (8, "int8")], words, -3),
]


test_a_lead_is_what_the_order_of_loads_allows = giving(lead, *CASES)


def copied_and_stored(buffers: Buffers) -> None:
    """Copy what a few bytes need by a call, and write three lanes of them or fewer by another."""
    source, target = buffers
    between = T.alloc_buffer((16,), "int8")
    with importing(COPIES_CODE, WORDS_CODE), T.serial(4) as i:
        copy_rows(between[0], source[i * 8], 8, 1, (0, 0))
        values = T.Cast("int32x4", between[T.ramp(0, 1, 4)])
        store_some(target, i * 8, values, number(3))


def tiles(buffers: Buffers) -> None:
    """Compute three pixels of eight channels by a call, and three more."""
    source, target = buffers
    constants = T.alloc_buffer((64,), "int8")
    name, code = tile_of(1, Outputs(4, 17, has_signs=False))
    with importing(code, WORDS_CODE), T.serial(2) as i:
        places = target[i * 24], source[i * 24], 8, constants[0], constants[0]
        compute_tile(name, *places, number(2), number(8))


def columns(buffers: Buffers) -> None:
    """Copy a row of two pixels of eight channels by a call, and write one by another."""
    source, target = buffers
    between, numbers = T.alloc_buffer((64,), "int8"), T.alloc_buffer((len(NUMBERS),), "int32")
    name, code = channels_of(
        Kind(
            *(1, 1, 9, 16),
            doubles=True,
            has_multipliers=True,
            has_lefts=False,
            has_signs=False,
            has_bias=False,
            low=-128,
            high=127,
        )
    )
    with importing(code, SPREAD_CODE), T.serial(3) as i:
        places = between[0], source[i * 16], between[0]
        spread(*places, i, T.int32(3), T.int32(2), T.int32(8), T.int32(8))
        convolve(name, target[i * 16], between[0], between[0], between[0], numbers, 8)


def test_a_lead_knows_what_an_assembler_s_lines_do_and_what_is_hidden_from_llvm() -> None:
    # An iteration writes at most four bytes, and the next one reads from four bytes further on.
    assert lead([(32, "int8"), (32, "int8")], copied_and_stored) == -4
    # In a tile the first pixel may be read when the last one was written.
    assert lead([(48, "int8"), (48, "int8")], tiles) == 24
    # Columns are read from a copy of the row.
    assert lead([(48, "int8"), (48, "int8")], columns) == -8
    assert lead([(48, "int8"), (8, "int8")], hidden_places) == -7


@pytest.mark.skipif(not shutil.which("cc"), reason="no C compiler cc on the path")
def test_code_gives_the_same_over_its_input_as_beside_it(tmp_path: Path) -> None:
    functions = {f"f{i}": function(sizes, write) for i, (sizes, write, _) in enumerate(CASES)}
    compiled = compile_functions(functions, {name: name for name in functions}, HOST)
    variants = {name: {"": (0, 1)} for name in functions}
    code = object_of(compiled.module_of(compiled.merged(variants).functions))
    (tmp_path / "f.o").write_bytes(code)
    check_call(["cc", "-shared", "-o", tmp_path / "f.so", tmp_path / "f.o"])
    library = ctypes.CDLL(str(tmp_path / "f.so"))
    rng = np.random.default_rng(0)
    for (name, function_), (sizes, _, least) in zip(functions.items(), CASES, strict=True):
        source, target = map(size_of_buffer, function_.params)
        results = set()
        item = np.dtype(sizes[1][1]).itemsize
        contents = rng.integers(-100, 100, 200).astype(np.int8)
        # From beside the input to as far over it as it may be, in whole elements.
        for each in range(target, least - 1, -1):
            block = contents.copy()
            start = block.ctypes.data + 100 // 4 * 4
            if each % item == 0:
                shift = ctypes.c_int32(-each // item)
                getattr(library, name)(ctypes.c_void_p(start), shift)
                results.add(block[100 - each : 100 - each + target].tobytes())
        assert len(results) == 1, (name, source)


def test_a_condition_that_is_known_in_a_turn_counts() -> None:
    def write(buffers: Buffers) -> None:
        source, target = buffers
        kept = T.alloc_buffer((4,), "int8")
        with T.serial(7) as i:
            with T.serial(2) as n:
                is_new = T.Or(i == 0, n >= 1)
                with T.If(is_new), T.Then():
                    T.buffer_store(kept, source[i + n], [(i + n) % 2])
            T.buffer_store(target, kept[0] + kept[1], [i])

    assert lead(BYTES, write) == -1


def test_tensors_of_other_elements_do_not_lie_over_one_another() -> None:
    assert leads(function([(8, "int8"), (8, "int32")], every(1)), 4) == {}
    assert leads(function([(8, "int64"), (8, "int64")], every(1)), 4) == {}
    assert leads(function([(8, "int64"), (8, "int64")], every(1)), 8) == {(0, 1): 0}


@pytest.mark.parametrize(
    "pointer", [lambda source: source.data, lambda source: T.address_of(source[0])]
)
def test_what_is_called_with_memory_is_not_followed(pointer: Callable[[Any], Any]) -> None:
    def write(buffers: Buffers) -> None:
        source, target = buffers
        T.buffer_store(target, T.call_extern("int8", "f", pointer(source)), [0])

    assert leads(function(BYTES, write), 4) == {}


def test_a_function_that_is_called_in_place_promises_no_separate_memory() -> None:
    target = parse_target("cortex-m4")
    compiled = compile_functions({"f": function(BYTES, every(1))}, {"f": "m_f"}, target)
    assert compiled.leads(4) == {"f": {(0, 1): 0}}
    merged = compiled.merged({"f": {"": (), "_over": (0, 1)}})
    code = str(compiled.module_of(merged.functions).inspect_source("ll"))
    lines = [line for line in code.splitlines() if "void @m_f" in line]
    assert sorted(line.count("ptr noalias") for line in lines) == [1, 2]
    assert sum("i32" in line for line in lines) == 1


def test_a_view_of_other_bytes_reads_and_writes_the_shared_memory() -> None:
    def write(buffers: Buffers) -> None:
        source, target = buffers
        views = [T.decl_buffer((8,), "uint8", data=each.data) for each in (source, target)]
        T.buffer_store(views[1], views[0][tirx.Ramp(0, 1, 8)], [tirx.Ramp(0, 1, 8)])

    body, shared, shifts = with_shared_memory(function(BYTES, write), [0, 1])
    assert (shared.dtype, [*shifts]) == ("int8", [1])
    assert 'T.reinterpret("int8x8"' in str(body)
