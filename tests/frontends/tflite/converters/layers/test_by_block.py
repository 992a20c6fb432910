"""Weights with scales by block, against LiteRT's default kernels: its reference ones give 0."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from frontends.errors import ModelFormatError
from frontends.tflite.quantization import Blocks, Quantization
from frontends.tflite.source import TFLiteSource
from frontends.tflite.writer import ModelWriter
from tests.support.hybrid import float_rows
from tests.support.tflite import check_refused
from tvm_qnn.compare import compare


def weights(
    writer: ModelWriter, rng: np.random.Generator, shape: tuple[int, int], size: int, **changed: Any
) -> int:
    """Add a matrix with its scales; ``changed`` names an irregularity of the scales."""
    scales = rng.uniform(0.001, 0.1, (shape[0], shape[1] // size)).astype(np.float16)
    scales = changed.get("scales", scales)
    name = f"s{len(writer._tensors)}"
    held = writer.tensor(name, scales.shape, scales.dtype.name, None, scales)
    dtype = changed.get("dtype", "int4")
    most = 2 if dtype == "int2" else 8
    array = rng.integers(-most, most, shape).astype(np.int8)
    return writer.tensor(f"w{held}", shape, dtype, Blocks(changed.get("at", held), size), array)


def dense(
    rng: np.random.Generator, rows: int, shape: tuple[int, int], size: int, **changed: Any
) -> tuple[bytes, np.ndarray]:
    writer, data = ModelWriter(), float_rows(rng, (rows, shape[1]))
    x = writer.tensor("x", data.shape, "float32")
    operands = [x, weights(writer, rng, shape, size, **changed)]
    if changed.get("bias", rows % 2):
        bias = rng.normal(0, 5, shape[0]).astype(np.float32)
        operands.append(writer.tensor("b", bias.shape, "float32", None, bias))
    y = writer.tensor("y", (rows, shape[0]), "float32")
    activation = changed.get("activation", "NONE")
    writer.operator(
        "FULLY_CONNECTED", operands, [y], version=9, fused_activation_function=activation
    )
    return writer.finish([x], [y]), data


@pytest.mark.parametrize(
    ("rows", "units", "depth", "size"),
    [(1, 64, 256, 32), (2, 5, 96, 16), (5, 17, 128, 128), (3, 33, 64, 2), (4, 8, 2048, 32)],
)
@pytest.mark.parametrize("kernels", [True, False])
def test_dense_layers(rows: int, units: int, depth: int, size: int, kernels: bool) -> None:
    content, data = dense(np.random.default_rng(rows), rows, (units, depth), size)
    found = compare(content, [data], "host" if kernels else "llvm", kernels=kernels)
    assert found.differing == ()
    assert found.tensors[-1].elements == rows * units
    assert found.reference == "LiteRT's default kernels"


@pytest.mark.parametrize("dtype", ["int4", "int2"])
def test_rows_of_a_table(dtype: str) -> None:
    writer, rng = ModelWriter(), np.random.default_rng(7)
    places = np.array([4, 0, 2, 2], np.int32)
    x = writer.tensor("x", places.shape, "int32")
    table = weights(writer, rng, (5, 24), 8, dtype=dtype)
    y = writer.tensor("y", (4, 24), "float32")
    writer.operator("EMBEDDING_LOOKUP", [x, table], [y], version=4)
    content = writer.finish([x], [y])
    assert compare(content, [places], "llvm").differing == ()


def test_a_layer_beside_others_is_compared_on_their_way() -> None:
    writer, rng = ModelWriter(), np.random.default_rng(8)
    data = float_rows(rng, (2, 64))
    x = writer.tensor("x", data.shape, "float32")
    h = writer.tensor("h", (2, 32), "float32")
    y = writer.tensor("y", (2, 8), "float32")
    writer.operator("FULLY_CONNECTED", [x, weights(writer, rng, (32, 64), 32)], [h], version=9)
    narrow = Quantization(np.full(8, 0.02, np.float32), np.zeros(8, np.int64), 0)
    array = rng.integers(-127, 128, (8, 32)).astype(np.int8)
    w = writer.tensor("w", array.shape, "int8", narrow, array)
    writer.operator("FULLY_CONNECTED", [h, w], [y], version=9, asymmetric_quantize_inputs=True)
    found = compare(writer.finish([x], [y]), [data], "llvm")
    assert found.differing == ()
    assert len(found.tensors) == 2


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"scales": np.ones((4, 3), np.float16)}, "must be 8 constants of float16, got float16"),
        ({"scales": np.ones((4, 2), np.float32)}, "must be 8 constants of float16, got float32"),
        ({"dtype": "int8"}, "has scales by block, and is not int4"),
        ({"activation": "RELU"}, "RELU behind weights with scales by block"),
    ],
)
def test_what_does_not_fit_is_told(changed: dict[str, Any], message: str) -> None:
    content, _ = dense(np.random.default_rng(0), 2, (4, 64), 32, **changed)
    check_refused(content, message)


def test_what_has_no_such_blocks_is_told() -> None:
    scales = np.ones((4, 1), np.float16)
    content, _ = dense(np.random.default_rng(0), 2, (4, 64), 48, scales=scales)
    check_refused(content, r"of shape \(4, 64\) has blocks of 48")
    writer, rng = ModelWriter(), np.random.default_rng(9)
    x, y = (writer.tensor(name, (5, 24), "float32") for name in "xy")
    writer.operator("ADD", [x, weights(writer, rng, (5, 24), 8)], [y])
    check_refused(writer.finish([x], [y]), "has scales by block")

    def set_to(place: int, value: int) -> Callable[[list[int]], None]:
        return lambda fields: fields.__setitem__(place, value)

    check_refused(_with_details(set_to(2, 0)), "its blocks have 0 weights", ModelFormatError)
    check_refused(_with_details(set_to(1, 0)), "zero points by block", ModelFormatError)


@pytest.mark.parametrize(
    ("place", "message"),
    [(9, "its scales are tensor 9 of 4"), (-1, "its scales are tensor -1 of 4")],
)
def test_scales_are_a_tensor_of_the_file(place: int, message: str) -> None:
    content, _ = dense(np.random.default_rng(0), 2, (4, 64), 32, at=place)
    check_refused(content, message, ModelFormatError)


def _with_details(change: Callable[[list[int]], None]) -> bytes:
    content, _ = dense(np.random.default_rng(0), 2, (4, 64), 48, scales=np.ones((4, 1), np.float16))
    fields = [1, -1, 48]
    known = np.array(fields[::-1], np.int32).tobytes()  # flatbuffers are written from the end
    assert content.count(known) == 1
    change(fields)
    return content.replace(known, np.array(fields[::-1], np.int32).tobytes())


def test_a_summary_names_the_scales(tmp_path: Path) -> None:
    content, _ = dense(np.random.default_rng(0), 2, (4, 64), 32)
    path = tmp_path / "a.tflite"
    path.write_bytes(content)
    (layer,) = TFLiteSource(path).summary(path.name).operators
    assert layer.inputs[1].quantization == "scales by blocks of 32, in tensor 1"
