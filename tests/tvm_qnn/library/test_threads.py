import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tvm
from tvm.script.ir_builder import IRBuilder
from tvm.script.ir_builder import tirx as T

import tvm_qnn
from legalize.kernels.ir.tasks import NUM_THREADS
from qnn_ops.errors import QnnError
from tests.support.errors import fails
from tests.support.modules import adder
from tvm_qnn.library.threads import MOST_THREADS, call_in_threads, use_threads

TASKS = 48


@pytest.fixture
def in_new_thread() -> Iterator[Callable[..., Any]]:
    """Call functions in one thread without a pool yet: every thread has its own."""
    with ThreadPoolExecutor(1) as executor:
        yield lambda *call: executor.submit(*call).result()


@pytest.fixture(scope="module")
def thread_numbers() -> Any:
    """Return a function that tells how many threads ran a parallel loop."""
    with IRBuilder() as builder, T.prim_func(s_tir=True):
        T.func_name("loop")
        T.func_attr({"global_symbol": "loop"})
        out = T.arg("out", T.buffer((TASKS,), "int64"))
        with T.parallel(TASKS) as i:
            T.buffer_store(out, T.call_extern("int64", "pthread_self"), [i])
    library = tvm.compile(builder.get(), target="llvm")

    def count() -> int:
        out = tvm.runtime.tensor(np.zeros(TASKS, np.int64))
        library["loop"](out)
        return len(set(out.numpy().tolist()))

    return count


def test_parallel_loops_use_as_many_threads(
    in_new_thread: Callable[..., Any], thread_numbers: Callable[[], int]
) -> None:
    for count in (2, 1, 2, 1):
        in_new_thread(use_threads, count)
        assert in_new_thread(thread_numbers) == count


def test_none_is_what_the_environment_says(
    in_new_thread: Callable[..., Any],
    thread_numbers: Callable[[], int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TVM_NUM_THREADS", "1")
    in_new_thread(use_threads, 2)
    in_new_thread(use_threads, None)
    assert in_new_thread(thread_numbers) == 1


def test_threads_are_not_bound_to_processors(in_new_thread: Callable[..., Any]) -> None:
    def affinity() -> set[int]:
        return os.sched_getaffinity(0)

    before = in_new_thread(affinity), os.environ.get("TVM_BIND_THREADS")
    in_new_thread(use_threads, 2)
    assert (in_new_thread(affinity), os.environ["TVM_BIND_THREADS"]) == (
        before[0],
        before[1] or "0",
    )


def test_a_pool_cannot_grow(in_new_thread: Callable[..., Any]) -> None:
    in_new_thread(use_threads, 1)
    fails("num_threads=9999 is more than", in_new_thread, use_threads, 9999)


@pytest.mark.parametrize("count", [0, -1, 1.5, True, "2", MOST_THREADS + 1])
def test_other_numbers_are_refused(count: Any, tmp_path: Path) -> None:
    with pytest.raises(QnnError, match="num_threads must be None or an integer from 1 to 1024"):
        tvm_qnn.build(tvm.IRModule(), num_threads=count)
    fails("num_threads", tvm_qnn.load, tmp_path / "model.so", num_threads=count)


def test_a_library_runs_in_its_threads(
    in_new_thread: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TVM_NUM_THREADS", "1")
    ones = np.ones((2, 3), np.int8)
    library = tvm_qnn.build(adder(), "host", num_threads=2)
    for count in (2, 1):
        library.num_threads = count
        np.testing.assert_array_equal(in_new_thread(library.run, ones, ones), ones + ones)
        assert in_new_thread(tvm.runtime.num_threads) == count
    library.num_threads = 0
    fails("num_threads", library.run, ones, ones)


def test_more_threads_may_follow_a_run_that_did_not_say_how_many(
    in_new_thread: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kernels may ask TVM for the number of threads, which makes the pool."""
    monkeypatch.setenv("TVM_NUM_THREADS", "1")
    ask = tvm.get_global_func(NUM_THREADS)
    assert in_new_thread(call_in_threads, None, ask) == 1
    assert in_new_thread(call_in_threads, 2, ask) == 2


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="threads cannot be bound here")
def test_a_process_stays_on_its_processors() -> None:
    core = max(os.sched_getaffinity(0))  # TVM would bind the first thread to the first one
    code = f"""if True:
        import os
        from concurrent.futures import ThreadPoolExecutor
        os.sched_setaffinity(0, {{{core}}})
        import numpy as np, tvm, tvm_qnn
        from tvm_qnn.library import threads
        from tests.support.modules import adder

        def check():
            for task in os.listdir("/proc/self/task"):
                assert os.sched_getaffinity(int(task)) == {{{core}}}

        w = {{"w": np.ones((2, 3), np.int8)}}
        for count in (None, 2, None):
            library = tvm_qnn.build(adder(), "host", w, num_threads=count)
            check()
            library.run(np.zeros((2, 3), np.int8))
            check()
        with ThreadPoolExecutor(1) as other:  # has a pool of TVM's of its own
            assert other.submit(tvm.runtime.num_threads).result() == threads._default() == 1
            check()
    """
    unset = ("TVM_BIND_THREADS", "TVM_NUM_THREADS", "OMP_NUM_THREADS")
    environment = {name: value for name, value in os.environ.items() if name not in unset}
    command = [sys.executable, "-c", code]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
