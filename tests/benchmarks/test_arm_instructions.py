import json
from pathlib import Path

import numpy as np

from benchmarks.arm_instructions import CORES, main, products, write_inputs
from benchmarks.models import inputs_of
from tests.support.arm import CORTEX_A76, on_cores
from tests.support.commands import refused, said
from tvm_qnn import digits
from tvm_qnn.target.target import NAMES

# The digits' network has four convolutions, one of them depthwise, and a dense layer.
PRODUCTS = 8 * 8 * 16 * 9 + 8 * 8 * 16 * 9 + 8 * 8 * 16 * 16 + 4 * 4 * 32 * 9 * 16 + 128 * 10


def test_products_are_those_of_weights() -> None:
    assert products(digits.model("int8")) == PRODUCTS


def test_inputs_are_written_whole(tmp_path: Path) -> None:
    (array,) = inputs_of(digits.model("uint8"))
    (file,) = write_inputs([array], tmp_path)
    np.testing.assert_array_equal(np.fromfile(file, np.uint8), array.ravel())


def test_every_processor_has_a_target() -> None:
    assert set(CORES.values()) <= set(NAMES)


@on_cores(CORTEX_A76)
def test_the_command_counts_a_model(core: object, tmp_path: Path) -> None:
    model, report, figures = (tmp_path / name for name in ("digits.tflite", "r.md", "r.json"))
    model.write_bytes(digits.model("int8"))
    words = [str(model), "--core", "cortex-a76", "--functions", "1"]
    text = said(main, [*words, "--markdown", str(report), "--json", str(figures)])
    assert "digits, cortex-a76" in text
    assert " %  model_" in text
    (comparison,) = json.loads(figures.read_text())["comparisons"]
    ours, *peers = comparison["programs"]
    assert ours["instructions"] > PRODUCTS / 16
    assert ours["output_difference"] == 0
    assert all(0 < peer["ratio"] < 2 for peer in peers)
    assert f"| {ours['instructions'] / 1e6:.3f} |" in report.read_text()


def test_a_model_that_is_not_there_is_an_error() -> None:
    assert "nowhere.tflite is neither a file nor a network" in refused(main, ["nowhere.tflite"])
