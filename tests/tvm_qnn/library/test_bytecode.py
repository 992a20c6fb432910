import re
import struct

import numpy as np
import pytest

import tvm_qnn
from qnn_ops.errors import QnnError
from tests.support.errors import fails
from tests.support.modules import adder
from tvm_qnn import digits
from tvm_qnn.library.built import BuiltOrigin
from tvm_qnn.library.bytecode import check_bytecode

VOID = 1 << 54


def bytecode(library: tvm_qnn.Library) -> tuple[bytes, int]:
    origin = library._open()
    assert isinstance(origin, BuiltOrigin)
    return origin._compiled.bytecode, len(origin.constants())


@pytest.fixture(scope="module")
def network() -> tuple[bytes, int]:
    mod, params = tvm_qnn.from_tflite(digits.model("int8"))
    return bytecode(tvm_qnn.build(mod, "host", params))


@pytest.mark.parametrize("size", [(), (2, 3), (2, 3000)])
def test_what_was_compiled_is_taken(size: tuple[int, ...], network: tuple[bytes, int]) -> None:
    check_bytecode(*network)
    # Small constants are tensors in the bytecode, large ones further parameters.
    weights = np.ones(size, np.int8)
    check_bytecode(*bytecode(tvm_qnn.build(adder(size), "host", {"w": weights})))


def words(code: bytes) -> tuple[bytes, list[int]]:
    """Split off the bytes before the instructions' words."""
    for count in range(1, len(code) // 8):
        start = len(code) - 8 * count
        if struct.unpack_from("<q", code, start - 8) == (count,):
            return code[:start], [*struct.unpack_from(f"<{count}q", code, start)]
    raise AssertionError("there are no instructions")


def calls(code: list[int]) -> list[int]:
    """Find where each call begins."""
    places, place = [], 0
    while code[place] == 1:
        places.append(place)
        place += 4 + code[place + 3]
    return places


def refused(network: tuple[bytes, int], place: int, value: int) -> str:
    code, constants = network
    before, numbers = words(code)
    numbers[place] = value
    changed = before + struct.pack(f"<{len(numbers)}q", *numbers)
    with pytest.raises(QnnError, match="its bytecode cannot be understood: ") as raised:
        check_bytecode(changed, constants)
    return str(raised.value)


def test_numbers_of_nothing_are_refused(network: tuple[bytes, int]) -> None:
    numbers = words(network[0])[1]
    for place in calls(numbers):
        number = calls(numbers).index(place)
        for value in (-1, 1000, 1 << 54 | 7):
            assert f"instruction {number} " in refused(network, place + 1, value)  # where to
            assert f"instruction {number} " in refused(network, place + 2, value)  # the function
        for value in (5, 0, -1):
            assert f"instruction {number} is none" in refused(network, place, value)
        for value in (-1, 1 << 62):
            refused(network, place + 3, value)  # how many arguments
        for argument in range(place + 4, place + 4 + numbers[place + 3]):
            for value in (1000, -1 & (1 << 56) - 1, 2 << 56 | 1000, 3 << 56 | 1000, 9 << 56):
                assert f"instruction {number} uses" in refused(network, argument, value)
    assert "uses what there is not" in refused(network, len(numbers) - 1, 1000)
    assert "uses what there is not" in refused(network, len(numbers) - 1, VOID)


def test_kernels_and_memory_get_no_registers_that_hold_nothing(network: tuple[bytes, int]) -> None:
    numbers = words(network[0])[1]
    kernel = max(calls(numbers), key=lambda place: numbers[place + 2])
    for register in (VOID, VOID + 1, 2, 4):  # nothing, the machine, storage that was given back
        message = refused(network, kernel + 4, register)
        assert "uses what there is not" in message
    # TVM takes nothing, in place of the machine, for one, and ends the process.
    numbers = words(network[0])[1]
    places = [place for place in calls(numbers) if VOID + 1 in numbers[place + 4 : place + 5]]
    assert places
    for place in places:
        assert "uses what there is not" in refused(network, place + 4, VOID)


def test_cut_and_lengthened_bytecode_is_refused(network: tuple[bytes, int]) -> None:
    code, constants = network
    cut = [code[:length] for length in (0, 7, *range(8, len(code), 11))]
    for other in (*cut, code + b"\0"):
        fails("its bytecode cannot be understood", check_bytecode, other, constants)
    fails("no function main that takes the constants", check_bytecode, code, constants + 2)
    fails("no function main", check_bytecode, code.replace(b"main", b"mein", 1), constants)
    version = re.sub(rb"^(.{16})0\.14", rb"\g<1>0.15", code, flags=re.DOTALL)
    fails("of another version of TVM", check_bytecode, version, constants)
