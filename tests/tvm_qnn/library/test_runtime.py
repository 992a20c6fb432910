from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tvm_qnn
from tests.support.linking import need_linker
from tests.support.modules import adder
from tests.support.processes import printed
from tvm_qnn.library import runtime

W = np.full((2, 3), 10, np.int8)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    need_linker()
    path = tmp_path_factory.mktemp("runtime") / "adder.so"
    tvm_qnn.build(adder(), "host", {"w": W}).export(path)
    return path


def output(code: str, *arguments: str, **environment: str) -> list[str]:
    return printed(code, *arguments, quiet=True, **environment).splitlines()


RUN = """
import sys, numpy
import tvm_qnn
def run():
    library = tvm_qnn.load(sys.argv[1], num_threads=1)
    return library.run(numpy.zeros((2, 3), 'int8'), dequantize_outputs=True).tolist()
"""


def test_a_library_runs_without_the_compiler(file: Path) -> None:
    code = RUN + "print(run(), 'tvm' in sys.modules)\n"
    code += "print('compiler' in open('/proc/self/maps').read())"
    assert output(code, str(file)) == [f"{W.tolist()} False", "False"]


def test_the_command_runs_a_library_without_the_compiler(file: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.zeros((2, 3), np.int8))
    code = (
        "import sys\n"
        "from tvm_qnn.cli import main\n"
        "main(['run', sys.argv[1], '--input', sys.argv[2], '--json'], standalone_mode=False)\n"
        "print('tvm' in sys.modules)"
    )
    *_, last = output(code, str(file), str(tmp_path / "x.npy"))
    assert last == "False"


def test_the_command_times_a_library_without_the_compiler(file: Path) -> None:
    code = (
        "import sys\n"
        "from tvm_qnn.cli import main\n"
        "from tvm_qnn.timing import Timing\n"
        "Timing.is_quiet = True\n"  # else a warning on a busy machine
        "main(['bench', sys.argv[1], '--rounds', '2'], standalone_mode=False)\n"
        "print('tvm' in sys.modules)"
    )
    *_, last = output(code, str(file))
    assert last == "False"


def test_importing_the_package_imports_nothing_else() -> None:
    code = "import sys, tvm_qnn; tvm_qnn.__version__\n"
    code += "heavy = {'frontends', 'legalize', 'numpy', 'tvm', 'tvm_ffi'}\n"
    assert output(code + "print(sorted(heavy & {*sys.modules}))") == ["[]"]


def test_tvm_may_be_imported_before_or_afterwards(file: Path) -> None:
    compiled = "tvm_qnn.build(adder(), 'host').run(numpy.ones((2, 3), 'int8'), run()).tolist()"
    use = "from tests.support.modules import adder\n" + f"print({compiled}, run())\n"
    use = use.replace("run())", "numpy.array(run(), 'int8'))", 1)
    expected = [f"{(W + 1).tolist()} {W.tolist()}"]
    assert output(RUN + "import tvm\n" + use, str(file)) == expected
    assert output(RUN + "run()\nimport tvm\n" + use + "run()", str(file)) == expected


def test_builds_in_the_same_process_share_the_runtime(file: Path) -> None:
    code = RUN + "run(); import tvm; from tvm_qnn.library import runtime\n"
    code += "print(tvm.runtime.num_threads() == runtime.function('runtime.NumThreads')())"
    assert output(code, str(file)) == ["True"]
    code = RUN + "run(); import os; print(os.environ['TVM_THREAD_POOL_SPIN_COUNT'])"
    assert output(code, str(file)) == ["2000"]
    assert output(code, str(file), TVM_THREAD_POOL_SPIN_COUNT="7") == ["7"]


def test_without_tvm_there_is_one_clear_error(file: Path) -> None:
    code = RUN.replace("import tvm_qnn", "import tvm_qnn, importlib.util as util")
    code += "find = util.find_spec; util.find_spec = lambda n: None if n == 'tvm' else find(n)\n"
    code += "try: run()\nexcept tvm_qnn.QnnError as error: print(error)"
    (line,) = output(code, str(file))
    assert line.endswith("running a library needs TVM: pip install apache-tvm")


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64", "float32", "bool"])
@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (0, 2)])
def test_arrays_become_tensors_and_arrays_again(dtype: str, shape: tuple[int, ...]) -> None:
    array = np.ones(shape, dtype)
    back = runtime.array_of(runtime.tensor(array))
    assert (back.dtype, back.shape) == (array.dtype, array.shape)
    np.testing.assert_array_equal(back, array)


def test_memory_is_shared_only_where_tvm_can_use_it() -> None:
    def shares(array: np.ndarray[Any, Any], copy: bool = False) -> bool:
        tensor = np.from_dlpack(runtime.tensor(array, copy=copy))
        assert tensor.__array_interface__["data"][0] % runtime.ALIGNMENT == 0
        np.testing.assert_array_equal(tensor, array)
        return np.shares_memory(tensor, array)

    memory = np.zeros(1000, np.int8)
    start = -memory.__array_interface__["data"][0] % runtime.ALIGNMENT
    aligned = memory[start : start + 64].reshape(8, 8)
    assert shares(aligned)
    assert not shares(aligned, copy=True)
    assert not shares(aligned.T)
    assert not shares(memory[start + 1 : start + 65])
    aligned.flags.writeable = False
    assert not shares(aligned)


def test_tensors_without_elements_are_compact() -> None:
    # numpy's own strides are (8, 8, 4) or (0, 0, 0); TVM's code checks for these.
    assert tuple(runtime.tensor(np.zeros((3, 0, 2), np.float32)).strides) == (0, 2, 1)
    assert tuple(runtime.tensor(np.zeros((0,), np.int8)).strides) == (1,)
