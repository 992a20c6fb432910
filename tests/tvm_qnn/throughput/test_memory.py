import sys
from pathlib import Path

import numpy as np
import pytest

import tvm_qnn
from tests.support.errors import fails
from tests.support.linking import needs_linker
from tests.support.modules import adder
from tvm_qnn.throughput import memory

on_linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells it")


@on_linux
@needs_linker
def test_a_library_takes_its_tensors_and_little_else(tmp_path: Path) -> None:
    taken = []
    for columns in (1000, 8_000_000):
        shape = (2, columns)
        library = tvm_qnn.build(adder(shape), "host", {"w": np.ones(shape, np.int8)})
        library.export(tmp_path / "m.so")
        taken.append(memory.memory_of(tmp_path / "m.so"))
    small, large = taken
    # An input, copied once, the weights and the result. Linux adds up a process's pages in batches:
    # VmRSS is off by some hundred kilobytes.
    assert 2.9 * 16e6 < large - small < 6 * 16e6
    assert 0 <= small < 16e6


@on_linux
def test_what_cannot_be_loaded_is_the_error_of_load(tmp_path: Path) -> None:
    fails(r"^no library at .*m\.so$", memory.memory_of, tmp_path / "m.so")


def test_another_system_tells_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "_PEAK", tmp_path / "clear_refs")
    fails("only Linux tells", memory.memory_of, tmp_path / "m.so")
