"""Whole models on emulated ARM processors: the integers that they have everywhere else."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from frontends.onnx import from_onnx
from qnn_ops.arrays import Array
from tests.support.arm import CORTEX_A15, CORTEX_A76, Core, each_aarch64, each_core, on_cores
from tests.support.arm_models import (
    lowered_module,
    needs_runtime,
    run_lowered,
    run_with_runtime,
    run_without_runtime,
)
from tests.support.models import check_model
from tests.support.onnx_networks import NETWORKS, Style
from tvm_qnn import digits, zoo
from tvm_qnn.oracle import onnxruntime_tensors

Run = Callable[[bytes, Core, Sequence[Array]], list[Array]]

# Of others, in the folder of real models.
SMALL = ("kws_i8", "mbv1_025_128_u8")
LARGE = ("mbv2_u8", "tf2_mbv2_i8")


def check(content: bytes, core: Core, run: Run) -> None:
    check_model(content, lambda inputs: run(content, core, inputs))


@pytest.fixture(scope="module")
def models(shared: Path) -> Path:
    return shared / "models" / "tflite"


@each_core
@pytest.mark.parametrize("style", digits.STYLES)
def test_digits_without_a_runtime(style: str, core: Core) -> None:
    check(digits.model(style), core, run_without_runtime)


@each_core
@pytest.mark.parametrize(
    ("name", "activations"), [("resnet", "int8"), ("mobilenet", "uint8"), ("googlenet", "int8")]
)
def test_onnx_networks_without_a_runtime(name: str, activations: str, core: Core) -> None:
    model = NETWORKS[name](Style(activations, "int8", per_channel=True, qdq=True))
    shape = [dim.dim_value for dim in model.graph.input[0].type.tensor_type.shape.dim]
    data = np.random.default_rng(3).normal(0, 1.2, shape).astype(np.float32)
    mod, _ = from_onnx(model)
    (result,) = run_lowered(*lowered_module(mod, core), core, [data])
    expected = onnxruntime_tensors(model, [data])[model.graph.output[0].name]
    np.testing.assert_array_equal(result, expected)


@needs_runtime
@each_aarch64
@pytest.mark.parametrize("style", zoo.STYLES)
def test_small_inception(style: str, core: Core) -> None:
    check(zoo.build("inception_v3", style, tiny=True), core, run_with_runtime)


@on_cores(CORTEX_A15)
@pytest.mark.parametrize("style", zoo.STYLES)
def test_small_inception_without_a_runtime(style: str, core: Core) -> None:
    check(zoo.build("inception_v3", style, tiny=True), core, run_without_runtime)


@on_cores(CORTEX_A15)
def test_a_real_model_without_a_runtime(models: Path, core: Core) -> None:
    content = (models / "mbv1_025_128_u8.tflite").read_bytes()
    check(content, core, run_without_runtime)


@needs_runtime
@each_aarch64
@pytest.mark.parametrize("name", [*SMALL, *LARGE])
def test_real_models(models: Path, name: str, core: Core) -> None:
    check((models / f"{name}.tflite").read_bytes(), core, run_with_runtime)


@needs_runtime
@on_cores(CORTEX_A76)
def test_inception(core: Core) -> None:
    check(zoo.build("inception_v3", "int8_per_axis"), core, run_with_runtime)
