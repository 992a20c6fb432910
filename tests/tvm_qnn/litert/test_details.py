"""An interpreter describes tensors and operators as LiteRT does."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ai_edge_litert import interpreter as litert

from benchmarks import tflite_zoo
from frontends.tflite.quantization import Quantization
from frontends.tflite.writer import ModelWriter
from tests.frontends.tflite.interface.test_signatures import two_models
from tests.support.sparse import by_blocks, by_rows, sparse_matrix
from tests.tvm_qnn.litert.models import Q, addition, chain, counter, filters, two_inputs
from tests.tvm_qnn.litert.programs import made
from tvm_qnn.litert import interpreter as ours


def same_details(content: bytes) -> list[Any]:
    expected, found = made(litert, content), made(ours, content)
    for name in ("get_input_details", "get_output_details", "get_tensor_details"):
        np.testing.assert_equal(getattr(found, name)(), getattr(expected, name)())
    assert found.num_subgraphs() == expected.num_subgraphs()
    details: list[Any] = found.get_tensor_details()
    for mine, theirs in zip(details, expected.get_tensor_details(), strict=True):
        assert mine["dtype"] is theirs["dtype"]
        assert list(mine) == list(theirs)
        for key in ("shape", "shape_signature"):
            assert mine[key].dtype == theirs[key].dtype
        for key in ("scales", "zero_points"):
            arrays = mine["quantization_parameters"], theirs["quantization_parameters"]
            assert arrays[0][key].dtype == arrays[1][key].dtype
    return details


@pytest.mark.parametrize("model", [chain, addition, two_inputs, filters, counter, two_models])
def test_small_models(model: Any) -> None:
    same_details(model())


@pytest.mark.parametrize(
    ("name", "style"),
    [("mobilenet_v1", "uint8"), ("mobilenet_v2", "int8_per_axis"), ("lstm_spotter", None)],
)
def test_networks(name: str, style: str | None) -> None:
    same_details(tflite_zoo.build(name, style or "int8_per_axis", tiny=True))


@pytest.mark.parametrize("name", ["kws_i8", "lstm_i8", "split_concat_u8", "tf2_mbv2_i8"])
def test_files_of_converters(shared: Path, name: str) -> None:
    same_details((shared / f"models/tflite/{name}.tflite").read_bytes())


@pytest.mark.parametrize(
    "dtype",
    [
        *("float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint16", "uint32"),
        *("uint64", "bool", "string", "complex64", "complex128", "resource", "variant", "int4"),
        *("int2", "bfloat16"),
    ],
)
def test_types(dtype: str) -> None:
    writer = ModelWriter()
    x, y = (writer.tensor(name, (1, 4), "uint8", Q) for name in "xy")
    writer.tensor("z", (4,), dtype, Quantization.per_tensor(0.25, 1))
    writer.operator("RELU", [x], [y])
    same_details(writer.finish([x], [y]))


@pytest.mark.parametrize("size", [1, 4])
def test_sparse_constants(size: int) -> None:
    matrix = sparse_matrix(np.random.default_rng(0), (8, 16), size)
    values, sparsity = by_rows(matrix) if size == 1 else by_blocks(matrix, size)
    writer = ModelWriter()
    x = writer.tensor("x", (1, 16), "float32")
    weights = writer.tensor("w", (8, 16), "int8", None, values, sparsity)
    y = writer.tensor("y", (1, 8), "float32")
    writer.operator("FULLY_CONNECTED", [x, weights, -1], [y], fused_activation_function="NONE")
    details = same_details(writer.finish([x], [y]))
    assert details[1]["sparsity_parameters"]["traversal_order"].size == 2 + (size > 1)


def test_what_is_told_follows_the_inputs_and_is_the_caller_s() -> None:
    told = []
    for module in (litert, ours):
        interpreter = made(module, chain())
        for rows in (5, 5, 1):
            interpreter.resize_tensor_input(0, [rows, 4])
            interpreter.allocate_tensors()
            shapes = [each["shape"].tolist() for each in interpreter.get_tensor_details()]
            assert shapes == [[rows, 4]] * 3
            told.append(shapes)
    assert told[:3] == told[3:]
    interpreter = made(ours, chain())
    first = interpreter.get_input_details()[0]
    first["shape"][0] = first["quantization_parameters"]["scales"][0] = 9
    assert interpreter.get_input_details()[0]["shape"][0] == 1
    assert interpreter.get_input_details()[0]["quantization_parameters"]["scales"][0] == 0.5


@pytest.mark.parametrize("model", [chain, addition, filters])
def test_operators(model: Any) -> None:
    expected = made(litert, model())._get_ops_details()
    np.testing.assert_equal(made(ours, model())._get_ops_details(), expected)
