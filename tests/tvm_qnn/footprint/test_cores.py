import re
import shutil
from dataclasses import replace
from unittest.mock import patch

import pytest

from qnn_ops.errors import QnnError
from tests.support.plain_c import needs_gcc
from tvm_qnn import digits
from tvm_qnn.footprint.boards import HERE, PLAIN_C_BOARDS, missing
from tvm_qnn.footprint.cores import CORES, Core
from tvm_qnn.footprint.footprint import footprint
from tvm_qnn.standalone.c99.function import REALS


@needs_gcc
def test_a_core_has_the_sizes_of_its_compiler() -> None:
    here = {"here": Core("gcc", (), "gcc"), "copies": Core("gcc", (), "gcc", copies_constants=True)}
    with patch.dict(CORES, here):
        found, copied = (footprint(digits.model("int8"), "c", core=core) for core in here)
    plain = footprint(digits.model("int8"), "c")
    assert found.core == "here"
    assert found.function_bytes != plain.function_bytes
    # Compilers align constants in their own ways.
    assert abs(plain.constant_bytes - found.constant_bytes) < 256
    assert found.flash == found.constant_bytes + (found.function_bytes or 0)
    assert found.estimated_instructions is None
    assert (found.ram, found.arena_ram) == (plain.ram, plain.arena_ram)
    assert copied.ram == found.ram + found.constant_bytes
    assert copied.arena_ram == found.arena_ram + found.constant_bytes


@pytest.mark.mcu
@pytest.mark.parametrize("core", CORES)
def test_cores_compile_the_digits(core: str) -> None:
    if not shutil.which(CORES[core].compiler):
        pytest.skip(f"no {CORES[core].compiler}")
    found = footprint(digits.model("int8"), "c", core=core)
    assert 2000 < (found.function_bytes or 0) < 20_000
    board = PLAIN_C_BOARDS.get(CORES[core].board)
    if board is None or missing(board.family):
        assert found.counted_instructions is None
    else:
        # Each product takes several, of which none counts for two.
        assert found.macs < (found.counted_instructions or 0) < 40 * found.macs


@pytest.mark.mcu
def test_a_program_that_no_board_can_have_is_not_counted() -> None:
    too_large = replace(PLAIN_C_BOARDS["cortex-m4"], room=0)
    with patch.dict(PLAIN_C_BOARDS, {"cortex-m4": too_large}):
        if not shutil.which(CORES["cortex-m4"].compiler) or missing():
            pytest.skip("no board")
        found = footprint(digits.model("int8"), "c", core="cortex-m4")
    assert found.counted_instructions is None


def test_every_function_of_reals_is_declared() -> None:
    words = set(re.findall(r"\w+", (HERE / "include" / "math.h").read_text()))
    assert words >= REALS | {f"{name}f" for name in REALS}


def test_what_is_no_core_is_an_error() -> None:
    model = digits.model("int8")
    with pytest.raises(QnnError, match=r"the cores of plain C are cortex-m0plus, .*, avr"):
        footprint(model, "c", core="z80")
    with pytest.raises(QnnError, match=r"--core avr is for plain C: give it with --target c"):
        footprint(model, "cortex-m4", core="avr")
    nothing = {"none": Core("no-such-gcc", (), "gcc-none")}
    message = "--core none needs no-such-gcc on the path: apt install gcc-none"
    with patch.dict(CORES, nothing), pytest.raises(QnnError, match=message):
        footprint(model, "c", core="none")
