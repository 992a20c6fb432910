from pathlib import Path

import numpy as np
import pytest

from frontends.errors import ModelFormatError
from frontends.summary import FALLBACK, FLOAT, INTEGER, UNSUPPORTED, Summary
from frontends.tflite.quantization import Quantization
from frontends.tflite.source import TFLiteSource
from tests.support.tflite import Sheet, fixed, one, x
from tvm_qnn.zoo import build as zoo

NARROW = Quantization.per_tensor(0.1, 0)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "model.tflite"


def summary_of(path: Path) -> Summary:
    return TFLiteSource(path).summary(path.name)


def test_a_whole_network(path: Path) -> None:
    path.write_bytes(zoo("mobilenet_v1", "int8_per_axis", tiny=True))
    summary = summary_of(path)
    assert (summary.name, summary.format) == ("model.tflite", "TFLite")
    assert {operator.lowering for operator in summary.operators} == {INTEGER}
    convolution = next(op for op in summary.operators if op.code == "CONV_2D")
    weights = convolution.inputs[1]
    assert weights.is_constant
    assert weights.quantization.startswith(f"{weights.shape[0]} scales from ")
    _, height, width, channels = convolution.outputs[0].shape
    assert convolution.macs == height * width * channels * np.prod(weights.shape[1:])
    depthwise = next(op for op in summary.operators if op.code == "DEPTHWISE_CONV_2D")
    assert depthwise.macs == np.prod(depthwise.outputs[0].shape) * 3 * 3
    dense = next(op for op in summary.operators if op.code == "FULLY_CONNECTED")
    assert dense.macs == np.prod(dense.inputs[1].shape)
    assert summary.operators[-1].macs == 0
    assert convolution.options["stride"] in [(2, 2), [2, 2]]
    assert summary.parameters > weights.shape[0]
    assert summary.inputs[0].quantization.startswith("scale ")


@pytest.mark.parametrize(("batch", "text"), [("n", "n"), (3, "3")])
def test_shapes_are_those_that_the_inputs_give(batch: int | str, text: str, path: Path) -> None:
    path.write_bytes(zoo("mobilenet_v1", "int8_per_axis", tiny=True))
    source = TFLiteSource(path)
    (given,) = source.summary("").inputs
    summary = source.summary("", {given.name: (batch, *given.shape[1:])})
    known = [*summary.inputs, *summary.outputs, *(op.outputs[0] for op in summary.operators)]
    assert {str(each.shape[0]) for each in known} == {text}
    single = source.summary("").operators[0].macs
    assert summary.operators[0].macs == single * (3 if batch == 3 else 1)


def test_the_products_of_a_transposed_convolution(path: Path) -> None:
    weights, window = fixed(np.ones((2, 3, 3, 3)), "int8", NARROW), {"stride_h": 2, "stride_w": 2}
    sheet = one("TRANSPOSE_CONV", [1, 8, 10, 2], weights, x(1, 4, 5, 3), padding="SAME", **window)
    path.write_bytes(sheet.model())
    assert summary_of(path).operators[0].macs == 4 * 5 * 3 * 2 * 3 * 3


def test_how_each_operator_is_computed(path: Path) -> None:
    sheet, data = Sheet(), x(2, 4)
    sheet.add("LOGISTIC", sheet.made("DEQUANTIZE", data, gives="float32"))
    for code in ("COS", "MULTINOMIAL"):
        sheet.add(code, data)
    path.write_bytes(sheet.model())
    found = {operator.code: operator for operator in summary_of(path).operators}
    assert found["DEQUANTIZE"].lowering == INTEGER
    assert found["LOGISTIC"].lowering == FLOAT
    assert found["COS"].lowering == FALLBACK
    assert found["MULTINOMIAL"].lowering == UNSUPPORTED
    assert found["MULTINOMIAL"].reason == "its results are random numbers, others in every run"


def test_the_variables_of_results_are_known(path: Path) -> None:
    path.write_bytes(zoo("mobilenet_v1", "uint8", tiny=True))
    source = TFLiteSource(path)
    imported = source.convert()
    operators = source.summary("").operators
    assert sorted(imported.results.values()) == [operator.index for operator in operators]
    names = {binding.var.name for binding in imported.mod["main"].body.blocks[0].bindings}
    assert set(imported.results) <= names


def test_a_damaged_file_is_refused(path: Path) -> None:
    path.write_bytes(zoo("mobilenet_v1", "uint8", tiny=True)[:500])
    with pytest.raises(ModelFormatError):
        summary_of(path)
