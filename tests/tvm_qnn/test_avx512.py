"""Whole models on emulated x86 processors: the integers that they have everywhere else."""

from collections.abc import Sequence
from pathlib import Path

import pytest
import tvm
from tvm import relax

from frontends.tflite import from_tflite
from legalize import lower
from qnn_ops.arrays import Array
from tests.support import bochs
from tests.support.bochs import PROCESSORS, Processor
from tests.support.bochs_models import run_module
from tests.support.models import check_model
from tvm_qnn import zoo

pytestmark = [
    pytest.mark.avx512,
    pytest.mark.skipif(bochs.missing() is not None, reason=f"cannot emulate: {bochs.missing()}"),
]
each_processor = pytest.mark.parametrize(
    "processor",
    [
        pytest.param(PROCESSORS[mcpu], id=mcpu)
        for mcpu in ("skylake-avx512", "cascadelake", "icelake-server")
    ],
)


def check(content: bytes, processor: Processor) -> None:
    def run(inputs: Sequence[Array]) -> list[Array]:
        mod, params = from_tflite(content)
        mod = relax.transform.BindParams("main", params)(mod)
        mod = lower(mod, tvm.target.Target(processor.target))
        return [run_module(processor, mod, inputs)]

    check_model(content, run)


@each_processor
@pytest.mark.parametrize("style", zoo.STYLES)
def test_small_inception(style: str, processor: Processor) -> None:
    check(zoo.build("inception_v3", style, tiny=True), processor)


@each_processor
@pytest.mark.parametrize("name", ["kws_i8", "mbv1_025_128_u8"])
def test_real_models(shared: Path, name: str, processor: Processor) -> None:
    check((shared / "models" / "tflite" / f"{name}.tflite").read_bytes(), processor)
