"""Libraries in threads, in forked and spawned processes, loaded and given back many times."""

import multiprocessing
import os
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing.context import BaseContext
from pathlib import Path
from typing import Any

import pytest

import tvm_qnn
from tests.support.linking import need_linker
from tests.support.tflite import library_of
from tvm_qnn import digits, zoo
from tvm_qnn.io.images import noise
from tvm_qnn.library.library import Library

ROOT = Path(__file__).resolve().parents[3]
THREADS = 8


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a network that is large enough for its loops to be shared by threads."""
    need_linker()
    path = tmp_path_factory.mktemp("concurrency") / "network.so"
    model = zoo.build("mobilenet_v1", "int8", size=64, width=0.25, classes=20)
    library_of(model, "host").export(path)
    return path


def answers(library: Library, seeds: Sequence[int]) -> list[bytes]:
    return [library.run(noise(library.inputs[0], seed)).tobytes() for seed in seeds]


def test_threads_share_a_library(file: Path) -> None:
    seeds = range(10)
    with tvm_qnn.load(file) as library:
        expected = answers(library, seeds)
        assert len(set(expected)) > 1
        with ThreadPoolExecutor(THREADS) as threads:
            found = list(threads.map(lambda _: answers(library, seeds), range(2 * THREADS)))
    assert found == [expected] * (2 * THREADS)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_results_are_the_same_on_any_number_of_threads(file: Path, count: int) -> None:
    expected = answers(tvm_qnn.load(file), range(3))
    with ThreadPoolExecutor(1) as new_thread:
        library = tvm_qnn.load(file, num_threads=count)
        assert new_thread.submit(answers, library, range(3)).result() == expected


def test_several_libraries_in_one_process(file: Path, tmp_path: Path) -> None:
    built = library_of(digits.model("uint8"), "host")
    built.export(tmp_path / "other.so")
    libraries = [tvm_qnn.load(file), tvm_qnn.load(tmp_path / "other.so"), built]
    alone = [answers(library, range(3)) for library in libraries]
    with ThreadPoolExecutor(THREADS) as threads:
        rounds = [threads.submit(answers, libraries[i % 3], range(3)) for i in range(24)]
        assert [task.result() for task in rounds] == alone * 8


_inherited: Library | None = None


def _run_inherited(seeds: Sequence[int]) -> list[bytes]:
    assert _inherited is not None
    return answers(_inherited, seeds)


def _load_and_run(file: Path, seeds: Sequence[int]) -> list[bytes]:
    return answers(tvm_qnn.load(file, num_threads=2), seeds)


def test_forked_processes_run_what_was_loaded_before(file: Path) -> None:
    # In a process of its own, where nothing else has threads.
    code = (
        "import sys; from pathlib import Path\n"
        "from tests.tvm_qnn.library import test_concurrency\n"
        "test_concurrency.check_forked(Path(sys.argv[1]))"
    )
    line = [sys.executable, "-c", code, str(file)]
    subprocess.run(line, cwd=ROOT, check=True, timeout=600)


def check_forked(file: Path) -> None:
    global _inherited
    _inherited = tvm_qnn.load(file, num_threads=2)
    expected = answers(_inherited, range(3))  # makes the pool of threads that is not inherited
    assert (
        _in_processes(multiprocessing.get_context("fork"), _run_inherited, (range(3),))
        == [expected] * 3
    )
    assert answers(_inherited, range(3)) == expected


def test_spawned_processes_load_the_same_file(file: Path) -> None:
    expected = answers(tvm_qnn.load(file), range(2))
    context = multiprocessing.get_context("spawn")
    assert _in_processes(context, _load_and_run, (file, range(2))) == [expected] * 3


def _in_processes(context: BaseContext, function: Any, arguments: tuple[Any, ...]) -> list[Any]:
    with ProcessPoolExecutor(2, mp_context=context) as processes:
        tasks = [processes.submit(function, *arguments) for _ in range(3)]
        return [task.result(timeout=500) for task in tasks]


@pytest.mark.skipif(not Path("/proc/self/statm").is_file(), reason="memory is told by Linux only")
def test_loading_again_and_again_leaves_nothing_behind(file: Path) -> None:
    def load() -> bytes:
        with tvm_qnn.load(file, num_threads=1) as library:
            return answers(library, [0])[0]

    expected = load()
    for _ in range(20):
        load()
    before, descriptors = _resident(), len(os.listdir("/proc/self/fd"))
    for _ in range(200):
        assert load() == expected
    # What the allocator keeps differs by a few pages; each library is 800 KB.
    assert _resident() - before < 4_000_000
    assert len(os.listdir("/proc/self/fd")) <= descriptors
    assert str(file) not in Path("/proc/self/maps").read_text(encoding="utf-8")


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * 4096


INTERRUPTED = """
import signal, threading, time
import tvm_qnn
from tvm_qnn import digits

def interrupt():
    # Again and again, as people do: Python drops one that arrives while it finalizes an object.
    while True:
        time.sleep(0.5)
        signal.raise_signal(signal.SIGINT)

mod, params = tvm_qnn.from_tflite(digits.model("int8"))
library = tvm_qnn.build(mod, "host", params)
library.benchmark(repeat=1)  # imports what a run needs
# Interrupts first runs. If TVM's machine then told its calls in the main thread, malloc ended the
# process.
for _ in range(100):
    try:
        threading.Timer(0.005, signal.raise_signal, [signal.SIGINT]).start()
        while True:
            library.benchmark(repeat=1, warmup=0)
    except KeyboardInterrupt:
        pass
signal.signal(signal.SIGINT, signal.SIG_IGN)
threading.Thread(target=interrupt, daemon=True).start()
for work in (lambda: library.benchmark(repeat=1), lambda: tvm_qnn.build(mod, "host", params)):
    start = time.perf_counter()
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        while True:
            work()
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        print(time.perf_counter() - start)
library.benchmark(repeat=1)  # it is as usable as before
"""


def test_interruptions_spoil_no_memory_and_end_a_run_and_a_build_soon() -> None:
    line = [sys.executable, "-c", INTERRUPTED]
    result = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, timeout=300, check=True)
    run, build = map(float, result.stdout.split())
    assert max(run, build) < 60  # on a busy machine; alone it takes less than a second
