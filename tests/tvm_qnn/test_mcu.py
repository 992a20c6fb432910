"""Whole models on emulated microcontrollers: LiteRT's integers, in no more instructions."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tvm import relax
from tvm.relax import op as R

from benchmarks.mcu_instructions import beside, by_layer, count
from frontends.tflite import from_tflite
from frontends.tflite.reader import read_model
from qnn_ops.errors import QnnError
from tests.support.arrays import full_range
from tests.support.dense_layers import dense_layers
from tests.support.modules import module
from tests.support.tflm import golden
from tvm_qnn import digits
from tvm_qnn.build import export_c
from tvm_qnn.footprint.boards import BOARDS, missing, run
from tvm_qnn.standalone.symbols import loaded_sections, undefined_symbols
from tvm_qnn.target.microcontrollers import HARD_FLOAT

pytestmark = [
    pytest.mark.mcu,
    pytest.mark.skipif(missing() is not None, reason=f"no emulated boards: {missing()}"),
]


def cores_of(names: Iterable[str]) -> list[Any]:
    """Return cores as parameters of a test, which is skipped where there is no board."""
    reasons = {core: missing(BOARDS[core].family) for core in names}
    return [
        pytest.param(core, marks=pytest.mark.skipif(bool(reason), reason=f"no board: {reason}"))
        for core, reason in reasons.items()
    ]


CORES = cores_of(BOARDS)
# A Cortex-M0+ and M3 have the kernels that a RISC-V processor has.
MODELS_CORES = cores_of(core for core in BOARDS if core not in ("cortex-m0plus", "cortex-m3"))
TFLM_CORES = cores_of(["cortex-m0plus", "cortex-m4", "cortex-m55", "riscv32"])

# Millions of instructions of an inference.
CEILINGS = {
    "cortex-m4": {"ad_i8": 0.327, "kws_i8": 3.43, "ic_resnet_i8": 14.0, "vww_i8": 7.35},
    "cortex-m55": {"ad_i8": 0.050, "kws_i8": 0.735, "ic_resnet_i8": 2.15, "vww_i8": 1.36},
}

# Bytes of code and constants.
FLASH = {
    "cortex-m4": {"ad_i8": 273_000, "kws_i8": 32_000, "ic_resnet_i8": 90_500, "vww_i8": 54_000},
    "cortex-m55": {"ad_i8": 272_000, "kws_i8": 33_000, "ic_resnet_i8": 90_500, "vww_i8": 53_500},
}

# Bytes of the workspace, with input and output in it.
RAM = {"ad_i8": 800, "kws_i8": 9_600, "ic_resnet_i8": 36_000, "vww_i8": 41_000}


RUNS = 20  # inputs of each model, on each core


def inputs_of(content: bytes, runs: int) -> list[np.ndarray]:
    graph, rng = read_model(content), np.random.default_rng(0)
    tensor = graph.tensors[graph.inputs[0]]
    return [full_range(rng, tensor.dtype, tuple(tensor.shape)) for _ in range(runs)]


@pytest.mark.parametrize("core", CORES)
@pytest.mark.parametrize("style", digits.STYLES)
def test_digits_are_litert_s(style: str, core: str, tmp_path: Path) -> None:
    content = digits.model(style)
    result = count(content, core, inputs_of(content, 5), tmp_path)
    assert len({*result.outputs}) == 5
    assert result.stack < 2048


@pytest.mark.parametrize("core", CORES)
def test_dense_layers_that_no_kernel_computes_whole_are_litert_s(core: str, tmp_path: Path) -> None:
    content = dense_layers()
    result = count(content, core, inputs_of(content, 5), tmp_path)
    assert len({*result.outputs}) == 5


@pytest.mark.parametrize("core", MODELS_CORES)
@pytest.mark.parametrize("name", RAM)
def test_real_models_are_litert_s_and_take_no_more_than_they_did(
    name: str, core: str, shared: Path, tmp_path: Path
) -> None:
    content = (shared / "models" / "tflite" / f"{name}.tflite").read_bytes()
    result = count(content, core, inputs_of(content, RUNS), tmp_path)
    assert len({*result.outputs}) > 1
    code = (tmp_path / "model.o").read_bytes()
    needs = undefined_symbols(code)
    assert needs is not None
    assert {*needs} <= {"memcpy", "memset"}
    if core not in CEILINGS:
        return
    assert max(result.instructions) < CEILINGS[core][name] * 1e6
    sizes = loaded_sections(code)
    assert sizes is not None
    flash = sum(size for section, size in sizes.items() if "fp16" not in section)
    assert flash < FLASH[core][name]


@pytest.mark.parametrize("core", TFLM_CORES)
def test_dense_layers_are_tflm_s(core: str, tmp_path: Path) -> None:
    content, inputs, (wanted,) = golden("FULLY_CONNECTED-1")
    mod, params = from_tflite(content, semantics="tflm")
    export_c(mod, core, params, tmp_path / "model")
    assert run(BOARDS[core], tmp_path, inputs).outputs == [wanted.tobytes()]


@pytest.mark.parametrize("core", CEILINGS)
def test_a_real_model_is_tflm_s(core: str, shared: Path, tmp_path: Path) -> None:
    content = (shared / "models" / "tflite" / "ad_i8.tflite").read_bytes()
    inputs = inputs_of(content, RUNS)
    result = count(content, core, inputs, tmp_path, semantics="tflm")
    # Two roundings took 2 to 3 % more than one.
    assert max(result.instructions) < 1.05 * CEILINGS[core]["ad_i8"] * 1e6


@pytest.mark.parametrize("core", CEILINGS)
@pytest.mark.parametrize("name", RAM)
def test_real_models_are_litert_s_in_little_memory(
    name: str, core: str, shared: Path, tmp_path: Path
) -> None:
    content = (shared / "models" / "tflite" / f"{name}.tflite").read_bytes()
    result = count(content, core, inputs_of(content, RUNS), tmp_path, arena=True)
    assert len({*result.outputs}) > 1
    assert workspace_of(tmp_path) < RAM[name]
    assert max(result.instructions) < 1.1 * CEILINGS[core][name] * 1e6


@pytest.mark.parametrize("core", CEILINGS)
@pytest.mark.parametrize(("name", "limit"), [("vww_i8", 33 << 10), ("ic_resnet_i8", 28 << 10)])
def test_real_models_in_strips_are_litert_s_within_a_limit(
    name: str, limit: int, core: str, shared: Path, tmp_path: Path
) -> None:
    content = (shared / "models" / "tflite" / f"{name}.tflite").read_bytes()
    result = count(content, core, inputs_of(content, RUNS), tmp_path, ram_limit=limit)
    assert len({*result.outputs}) > 1
    assert workspace_of(tmp_path) <= limit
    assert max(result.instructions) < 2 * CEILINGS[core][name] * 1e6


def workspace_of(folder: Path) -> int:
    return int((folder / "model.h").read_text().split("WORKSPACE_SIZE ")[1].split()[0])


def test_instructions_of_layers_are_those_of_a_run(tmp_path: Path) -> None:
    content = digits.model("int8")
    (tmp_path / "layers").mkdir()
    (tmp_path / "run").mkdir()
    told = by_layer(content, "cortex-m4", tmp_path / "layers")
    total = count(content, "cortex-m4", inputs_of(content, 1), tmp_path / "run").instructions[0]
    assert {layer.code for layer, _ in told} > {"CONV_2D", "FULLY_CONNECTED"}
    shares = [share for _, share in told]
    calls = sum(len(layer.calls) for layer, _ in told)
    # Each call is told of in a few instructions.
    assert total - 100 < sum(shares) < total + 30 * calls
    assert max(shares) > total / 4


@pytest.mark.parametrize("core", CORES)
def test_estimates_are_near_the_counts(core: str, tmp_path: Path) -> None:
    told = by_layer(digits.model("int8"), core, tmp_path)
    known = [
        (layer.estimated_instructions, share)
        for layer, share in told
        if layer.estimated_instructions is not None
    ]
    assert len(known) == len(told) - 1
    estimated, counted = map(sum, zip(*known, strict=True))
    assert estimated == pytest.approx(counted, rel=0.2)
    # Each layer's, too, if less so.
    assert all(share / 2 < estimate < 2 * share for estimate, share in known)


def test_a_wrong_output_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = digits.model("int8")
    (array,) = inputs_of(content, 1)
    monkeypatch.setattr(
        "benchmarks.mcu_instructions.litert_tensors",
        lambda model, arrays: {index: np.zeros(1) for index in range(1000)},
    )
    with pytest.raises(Exception, match="the output of run 0 on cortex-m33 is not LiteRT's"):
        count(content, "cortex-m33", [array], tmp_path)


def test_another_program_is_counted_beside(tmp_path: Path) -> None:
    content, core = digits.model("int8"), "cortex-m4"
    other, mine = tmp_path / "other", tmp_path / "mine"
    other.mkdir()
    mine.mkdir()
    inputs = inputs_of(content, 2)
    mod, params = from_tflite(content)
    export_c(mod, core, params, other / "model")
    result = count(content, core, inputs, mine)
    first, last = result.outputs
    counted = beside(other, core, inputs, [first, bytes([last[0] ^ 1]) + last[1:]])
    assert counted.different == 1
    assert counted.result.instructions == result.instructions
    with pytest.raises(QnnError, match=r"model.h has outputs of another size"):
        beside(other, core, inputs[:1], [first[1:]])
    (other / "model.o").unlink()
    with pytest.raises(QnnError, match=r"no .*/other/model.o: a program .* has model.c, model.h"):
        beside(other, core, inputs, result.outputs)


@pytest.mark.parametrize("core", ["cortex-m4", "cortex-m4+hardfloat", "cortex-m55+hardfloat"])
def test_floats_are_passed_as_the_platform_passes_them(core: str, tmp_path: Path) -> None:
    x = np.random.default_rng(0).normal(0, 1e6, (4, 8)).astype(np.float32)
    mod = module(
        {"x": relax.TensorType(x.shape, "float32")},
        lambda x: R.astype(
            R.astype(R.multiply(x, relax.const(1.5, "float32")), "int64"), "float32"
        ),
    )
    export_c(mod, core, None, tmp_path / "model")
    board = BOARDS[core.removesuffix(HARD_FLOAT)]
    result = run(board, tmp_path, [x], hard=core.endswith(HARD_FLOAT))
    expected = (x * np.float32(1.5)).astype(np.int64).astype(np.float32)
    assert result.outputs == [expected.tobytes()]


@pytest.mark.parametrize("core", ["cortex-m4", "cortex-m55", "cortex-m55+hardfloat"])
def test_words_times_a_power_of_two(core: str, tmp_path: Path) -> None:
    x = np.random.default_rng(0).integers(-(2**15), 2**15, (2, 13, 5), np.int16)
    scale = relax.const(0.0625, "float32")
    rows = np.arange(13, dtype=np.int32)[::-1].copy()
    mod = module(
        {"x": relax.TensorType(x.shape, "int16")},
        lambda x: R.take(
            R.multiply(R.astype(x, "float32"), scale), relax.const(rows), axis=1, mode="clip"
        ),
    )
    export_c(mod, core, None, tmp_path / "model")
    board = BOARDS[core.removesuffix(HARD_FLOAT)]
    result = run(board, tmp_path, [x], hard=core.endswith(HARD_FLOAT))
    assert result.outputs == [(x[:, rows] * np.float32(0.0625)).tobytes()]
