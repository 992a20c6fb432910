"""What outputs are by their operators."""

from typing import Any

import pytest

from frontends.tflite.importer import import_graph
from frontends.tflite.interface.ends import DETECTION, roles_of
from frontends.tflite.quantization import Quantization
from frontends.tflite.reader import read_model
from frontends.tflite.writer import ModelWriter
from qnn_ops.dialect.signature import Signature, signature_of
from tests.support.detectors import detector
from tests.support.tflite import Sheet, x

Q = Quantization.per_tensor(0.1, 0)


def roles(model: bytes) -> dict[str, tuple[str, int]]:
    """Return roles as the importer tells them, by the outputs' names."""
    imported = import_graph(read_model(model))
    signature = signature_of(imported.mod)
    assert Signature.from_json(signature.to_json()) == signature
    return {info.name: (info.role, info.classes) for info in signature.outputs}


def segmentation(axis: int = 3, tail: tuple[str, ...] = ()) -> bytes:
    """Return a model of ARG_MAX and a following operator."""
    sheet, shape = Sheet(), (1, 4, 5 if axis == 1 else 4)
    options = {"gives": (shape, "int64", None), "output_type": "int64"}
    result = sheet.made("ARG_MAX", x(1, 4, 4, 5), axis, **options)
    for code in tail:
        result = sheet.made(code, sheet.inside(result), gives=(shape, "int32", None))
    return sheet.model()


def test_the_results_of_a_single_detection_are_told_apart() -> None:
    assert roles(detector()) == {
        "boxes": ("boxes", 3),
        "kinds": ("classes", 3),
        "scores": ("scores", 3),
        "number": ("count", 3),
    }
    graph = read_model(detector())
    assert [role["role"] for role in roles_of(graph, graph.outputs).values()] == list(DETECTION)
    assert roles_of(graph, [*graph.outputs, graph.outputs[0]]) == {}
    assert roles_of(graph, graph.outputs[:3]) == {}


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({}, ("map", 5)),
        ({"axis": -1}, ("map", 5)),
        ({"tail": ("CAST",)}, ("map", 5)),
        ({"axis": 1}, ("", 0)),
    ],
)
def test_arg_max_of_the_last_axis_gives_a_map(
    arguments: dict[str, Any], expected: tuple[str, int]
) -> None:
    assert set(roles(segmentation(**arguments)).values()) == {expected}


def softmax(sheet: Sheet, *shape: int) -> Any:
    encoding = Quantization.per_tensor(1 / 256, -128)
    return sheet.made("SOFTMAX", x(*shape), gives=(shape, "int8", encoding), beta=1.0)


def test_softmax_of_a_picture_gives_probabilities_and_a_classifier_s_none() -> None:
    sheet = Sheet()
    real = ((1, 4, 4, 5), "float32", None)
    sheet.add("DEQUANTIZE", softmax(sheet, 1, 4, 4, 5), gives=real)
    assert set(roles(sheet.model()).values()) == {("probabilities", 5)}
    sheet = Sheet()
    softmax(sheet, 1, 5)
    model = sheet.model()
    assert roles(model) == {"y2": ("", 0)}
    assert "role" not in signature_of(import_graph(read_model(model)).mod).to_json()


def test_an_operator_that_writes_its_operand_is_no_circle() -> None:
    writer = ModelWriter()
    data, real = writer.tensor("x", (0, 4), "int8", Q), writer.tensor("y", (0, 4), "float32")
    writer.operator("DEQUANTIZE", [data], [real])
    writer.operator("QUANTIZE", [real], [data])
    writer.operator("DEQUANTIZE", [data], [real])
    graph = read_model(writer.finish([data], [real]))
    assert roles_of(graph, graph.outputs) == {}
