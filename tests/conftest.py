"""What all tests share."""

import gc
import inspect
import linecache
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

import pytest
from hypothesis import settings

from tvm_qnn.io import progress
from tvm_qnn.io.kept import VARIABLE
from tvm_qnn.library.threads import use_threads

# The first example of a property often pays for a compilation: no time limit per example. In
# continuous integration the examples are the same each time, so that a change is judged by what
# it changes; elsewhere each run tries new ones.
settings.register_profile("project", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("project")

# The collector would walk over all modules and tests again and again, and find nothing.
gc.disable()

# Commands print the same on slow machines: what lasts says no more than what does not.
progress.PATIENCE = 1e6

# TVMScript asks for the whole stack, to look at a line of the third frame. Python looks for the
# source of each frame among thousands of modules, and below a test there are some fifty frames.
_NEAR = 3


def _near_stack(context: int = 1) -> list[inspect.FrameInfo]:
    """Return the result of ``inspect.stack``, with source lines only for the nearest frames."""
    frame: FrameType | None = sys._getframe(1)
    found: list[inspect.FrameInfo] = []
    while frame is not None:
        code, line = frame.f_code, frame.f_lineno
        lines = [linecache.getline(code.co_filename, line)] if len(found) < _NEAR else None
        found.append(inspect.FrameInfo(frame, code.co_filename, line, code.co_name, lines, 0))
        frame = frame.f_back
    return found


inspect.stack = _near_stack

# A shell makes its background jobs ignore Ctrl-C, for which there are tests.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_finish() -> None:
    """Let the collector look at what tests make, and not at the modules and tests."""
    gc.freeze()
    gc.enable()


# Only these compile entirely as users do: they ask how functions are divided into modules, and what
# a library checks. All other tests compile functions together, which gives the same code.
_AS_USERS_DO = ("tvm_qnn/target", "tvm_qnn/library")

# The tests of these ask what a model or an operator means, how a library is called, or what a
# command prints. They also leave out LLVM's optimization and the checks of arguments, which take
# much of their time. So do tests of kernels of integers that try many shapes and instruction sets:
# such kernels are written down to the last register. Tests of epilogues and of floats have both, as
# LLVM may fuse a product and a sum, and so have tests of most passes, whole networks, code, and
# primitives on several processors.
_ROOT = Path(__file__).parent
_PASSES = (
    *("channels_last", "channels_last_rules", "drop_constant_channels", "fold_constants"),
    *("fold_qdq", "in_strips", "inline_elementwise", "one_item", "split_words"),
    "tabulate_floats",
)
_PRIMITIVES = (
    *("activations", "float_layers", "layers", "lstm", "onnxruntime", "pools", "primitives"),
    *("quantization", "quantized_binary", "rows", "svdf"),
)
_KERNELS = (
    *("conv2d/test_constants", "conv2d/mcu/test_dense", "conv2d/x86/dot/test_kernel"),
    *("conv2d/x86/test_kernel", "conv2d/x86/test_pixels", "conv2d/x86/test_rules"),
    *("conv2d/x86/test_sizes", "depthwise/x86/test_kernel", "depthwise/x86/test_rules"),
    *("join/test_rules", "matmul/test_rules", "pool/test_rules"),
)
_AS_WRITTEN = (
    "frontends",
    *(f"legalize/kernels/{each}.py" for each in _KERNELS),
    *(f"legalize/passes/test_{each}.py" for each in _PASSES),
    *(f"legalize/primitives/test_{each}.py" for each in _PRIMITIVES),
    *(f"tvm_qnn/{each}" for each in ("litert", "onnxruntime", "relay")),
    *(f"tvm_qnn/{each}" for each in ("cli", "compare", "demo", "evaluate", "text", "throughput")),
    *(f"benchmarks/test_bench_{each}.py" for each in ("one_line", "open_pairs", "open_sizes")),
    *(f"benchmarks/test_bench_{each}.py" for each in ("tokens", "transformer")),
    "benchmarks/onnx_zoo",
    "tvm_qnn/profile/test_layers.py",
    *("census", "onnxruntime_tests", "tools", "tutorials", "test_snippets.py"),
)


@pytest.fixture(scope="module", autouse=True)
def _compilation(request: pytest.FixtureRequest) -> Iterator[None]:
    """Compile in few modules; as TVM writes it in some folders and files."""
    from tests.support.as_written import compile_as_written, compile_in_few_modules

    def is_in(places: tuple[str, ...]) -> bool:
        return any(request.path.is_relative_to(_ROOT / place) for place in places)

    with pytest.MonkeyPatch.context() as patch:
        if not is_in(_AS_USERS_DO):
            compile_in_few_modules(patch)
        if is_in(_AS_WRITTEN):
            compile_as_written(patch)
        yield


@pytest.fixture(scope="session", autouse=True)
def pool() -> None:
    """Make the pool of threads of the thread that runs the tests.

    A kernel that a test calls by itself may ask for it, and would make it of one thread.
    """
    use_threads(None)


@pytest.fixture
def builds(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the builds of tests that compile as written: none of these compiles a model again."""
    folder = tmp_path_factory.getbasetemp()
    if folder.name.startswith("popen-"):  # the processes of pytest-xdist share a run's folder
        folder = folder.parent
    monkeypatch.setenv(VARIABLE, str(folder / "builds"))


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real models and pictures beside the checkout; not part of the project."""
    folder = Path(__file__).resolve().parents[2] / "shared"
    if not folder.is_dir():
        pytest.skip(f"the real models are not there: no folder {folder}")
    return folder
