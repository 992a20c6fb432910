import re
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import tvm
from tvm import relax
from tvm.relax import op as R

from tests.support.arm import ARMV7, CORTEX_A15, Core
from tests.support.arm_models import lowered_module, run_lowered
from tests.support.machine_code import assembly
from tests.support.modules import module
from tvm_qnn import build
from tvm_qnn.library.built import BuiltOrigin
from tvm_qnn.target.options import options_kept, with_options
from tvm_qnn.target.target import parse_target

WITHOUT_VECTORS = Core("cortex-a15", ARMV7, "llvm -mtriple=armv7l-linux-gnueabihf -mattr=-neon")
X = np.random.default_rng(0).standard_normal((2, 3, 5, 16)).astype(np.float32)

MERGED = re.compile(r"\t(v?stm|v?ldm)(ia|ib|da|db)?\t(?!sp)")


def transposed() -> tvm.IRModule:
    """A module whose loop LLVM unrolls, with a store to each of 15 neighbours."""
    return module(
        {"x": relax.TensorType(X.shape, "float32")}, lambda x: R.permute_dims(x, [0, 3, 1, 2])
    )


@pytest.mark.parametrize("core", [WITHOUT_VECTORS, CORTEX_A15], ids=["plain", "neon"])
def test_stores_of_neighbours_are_right_on_32_bit_arm(core: Core) -> None:
    if core.machine.missing is not None:
        pytest.skip(core.machine.missing)
    outputs = run_lowered(*lowered_module(transposed(), core), core, [X])
    np.testing.assert_array_equal(outputs[0], X.transpose(0, 3, 1, 2))


@pytest.mark.parametrize("target", ["armv7-neon", WITHOUT_VECTORS.target_name, "cortex-m4"])
def test_loads_and_stores_are_not_merged_on_32_bit_arm(target: str) -> None:
    assert not MERGED.search(assembly(build(transposed(), target)))


def test_objects_that_are_written_side_by_side_are_the_same(tmp_path: Path) -> None:
    origin = build(transposed(), "armv7-neon")._origin
    assert isinstance(origin, BuiltOrigin)

    def objects(turn: int) -> list[bytes]:
        folder = tmp_path / str(turn)
        folder.mkdir()
        return [file.read_bytes() for file in origin._compiled.write_objects(folder)]

    alone = objects(0)
    with ThreadPoolExecutor(4) as pool:
        assert all(each == alone for each in pool.map(objects, range(1, 33)))


@pytest.mark.parametrize("target", ["x86-avx2", "aarch64", "riscv32", "wasm32"])
def test_other_targets_have_no_options(target: str) -> None:
    assert "cl-opt" not in dict(parse_target(target).export())


def test_options_of_ones_own_stay() -> None:
    once = with_options({"mtriple": "thumbv7em-none-eabi", "cl-opt": ["-debug-pass:string=x"]})
    assert once["cl-opt"] == ["-debug-pass:string=x", "-arm-load-store-opt:bool=false"]
    assert with_options(once) == once


@pytest.mark.parametrize(("target", "waits"), [("cortex-m4", True), ("x86-avx2", False)])
def test_one_thread_at_a_time_compiles_with_options(target: str, waits: bool) -> None:
    entered = threading.Event()

    def enter() -> None:
        with options_kept(parse_target(target)):
            entered.set()

    thread = threading.Thread(target=enter)
    with options_kept(parse_target(target)):
        thread.start()
        assert entered.wait(0.2 if waits else 10) is not waits
    thread.join()
    assert entered.is_set()
