"""Libraries and sessions in other processes, and copies of them."""

import copy
import multiprocessing
import pickle
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import tvm

import tvm_qnn
from qnn_ops.errors import QnnError
from tests.frontends.tflite.converters.test_variables import inputs, ring
from tests.support.errors import fails
from tests.support.linking import needs_linker
from tests.support.modules import adder
from tvm_qnn import Library
from tvm_qnn.library.remote import Remote, RemoteLibrary

X = np.arange(6, dtype=np.int8).reshape(2, 3)
W = np.full((2, 3), 10, np.int8)

pytestmark = needs_linker


@pytest.fixture(scope="module")
def library() -> Library:
    return tvm_qnn.build(adder(), "host", {"w": W}, num_threads=2)


@pytest.fixture
def streaming() -> Library:
    mod, params = tvm_qnn.from_tflite(ring())
    return tvm_qnn.build(mod, "host", params)


def test_a_pickle_is_the_file_and_becomes_a_library(library: Library, tmp_path: Path) -> None:
    library.export(tmp_path / "adder.so")
    for each in (library, tvm_qnn.load(tmp_path / "adder.so", num_threads=2)):
        again = pickle.loads(pickle.dumps(each))
        np.testing.assert_array_equal(again.run(X), X + W)
        assert (again.metadata, again.num_threads) == (library.metadata, 2)
        again.export(tmp_path / "again.so")
        assert (tmp_path / "again.so").read_bytes() == (tmp_path / "adder.so").read_bytes()


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])
def test_a_copy_lives_without_the_original(copied: object) -> None:
    assert callable(copied)
    library = tvm_qnn.build(adder(), "host", {"w": W})
    again = copied(library)
    library.close()
    np.testing.assert_array_equal(again.run(X), X + W)


def test_a_spawned_process_runs_it(library: Library) -> None:
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        results = list(pool.map(library.run, [X, W]))
    np.testing.assert_array_equal(results, [X + W, W + W])


def test_a_state_goes_along_and_is_the_copys_own(streaming: Library) -> None:
    arrays = inputs(6)
    for begun in (streaming, streaming.session()):
        for array in arrays[:3]:
            begun.run(*array)
        again = pickle.loads(pickle.dumps(begun))
        rest = [again.run(*array) for array in arrays[3:]]
        np.testing.assert_array_equal(rest, [begun.run(*array) for array in arrays[3:]])


def test_one_for_another_machine_can_be_sent_on() -> None:
    here = tvm.target.codegen.llvm_get_system_triple()
    other = "aarch64-linux-gnu" if "x86_64" in here else "x86_64-linux-gnu"
    library = tvm_qnn.build(adder(), f"llvm -mtriple={other}", {"w": W})
    try:
        pickled = pickle.dumps(library)
    except QnnError:
        pytest.skip("there is no linker for another machine")
    again = pickle.loads(pickled)
    fails(f"cannot run here: it is for {other}", again.run, X)
    assert pickle.dumps(again) == pickled


def test_what_cannot_be_pickled_or_is_damaged_says_why(library: Library) -> None:
    closed = tvm_qnn.build(adder(), "host", {"w": W})
    session = closed.session()
    closed.close()
    for each in (closed, session):
        fails("this library was closed", pickle.dumps, each)
    fails("a session on a device cannot be pickled: connect in", pickle.dumps, Remote(None))
    with pytest.raises(QnnError, match="a library on a device cannot be pickled: pickle the one"):
        pickle.dumps(RemoteLibrary(library, None, None))
    damaged = bytearray(pickle.dumps(library))
    damaged[len(damaged) // 2] ^= 1
    fails("the file is damaged", pickle.loads, bytes(damaged))
