from __future__ import annotations

from pathlib import Path

import numpy as np
from click.testing import CliRunner

from benchmarks.arm.counting import CLASSES, Counts
from benchmarks.arm_instructions import CORES, ROWS, Measured, main, products, write_inputs
from tests.support.arm import CORTEX_A76, on_cores
from tvm_qnn import digits
from tvm_qnn.target import NAMES

# Of the digits' network: four convolutions, one of them depthwise, and a dense layer.
PRODUCTS = 8 * 8 * 16 * 9 + 8 * 8 * 16 * 9 + 8 * 8 * 16 * 16 + 4 * 4 * 32 * 9 * 16 + 128 * 10


def test_a_column_tells_of_dot_products_and_of_the_least_number() -> None:
    classes = dict.fromkeys(CLASSES, 0) | {"dot product": 1_000_000, "matrix": 500_000}
    counts = Counts(classes | {"other": 1_500_000}, {})
    measured = Measured("m", "cortex-a76", "tvm-qnn", counts, 16_000_000, {})
    column = dict(zip(ROWS, measured.column(), strict=True))
    assert column["all, millions"] == "3.000"
    assert column["dot products, %"] == "50"
    assert column["× least"] == "3.00"
    assert column["matrix"] == "0.500"


def test_products_are_those_of_weights() -> None:
    assert products(digits.model("int8")) == PRODUCTS


def test_inputs_are_written_whole(tmp_path: Path) -> None:
    (file,) = write_inputs(digits.model("uint8"), tmp_path)
    assert np.fromfile(file, np.uint8).size == digits.SIZE**2


def test_every_processor_has_a_target() -> None:
    assert set(CORES.values()) <= set(NAMES)


@on_cores(CORTEX_A76)
def test_the_command_counts_a_model(core: object, tmp_path: Path) -> None:
    model, report = tmp_path / "digits.tflite", tmp_path / "report.md"
    model.write_bytes(digits.model("int8"))
    words = [str(model), "--core", "cortex-a76", "--functions", "1", "--markdown", str(report)]
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 0, result.output
    assert "digits, cortex-a76" in result.output
    assert " %  model_" in result.output
    lines = report.read_text().splitlines()
    (total,) = (line for line in lines if "all, millions" in line)
    assert float(total.split("|")[2]) > PRODUCTS / 16 / 1e6


def test_a_model_that_is_not_there_is_an_error() -> None:
    result = CliRunner().invoke(main, ["nowhere.tflite"])
    assert result.exit_code == 1
    assert "nowhere.tflite is neither a file nor a network" in result.output
