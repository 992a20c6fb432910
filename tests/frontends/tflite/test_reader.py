"""What the reader finds in a file, and one clear error for each damaged file."""

import re
import struct
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tflite
from ai_edge_litert.interpreter import Interpreter, OpResolverType

from frontends.errors import ModelFormatError
from frontends.tflite.model import Model
from frontends.tflite.options.base import Options
from frontends.tflite.quantization import Quantization
from frontends.tflite.reader import read_model
from frontends.tflite.writer import ModelWriter
from tests.frontends.tflite.example_models import KERNEL, raw_model, small_model
from tests.support import tflite_patch as at
from tests.support.arrays import full_range
from tests.support.tflite import check_refused
from tests.support.tflite_patch import SMALL
from tvm_qnn.compare import compare

REAL_MODELS = Path(__file__).resolve().parents[3].parent / "shared" / "models" / "tflite"


def test_reads_what_the_writer_wrote() -> None:
    model = read_model(small_model())
    assert model.description == "a small model"
    assert (model.inputs, model.outputs) == ((0,), (5,))
    assert [t.index for t in model.tensors] == [0, 1, 2, 3, 4, 5]
    assert [t.name for t in model.tensors] == ["x", "k", "b", "y", "shape", "z"]
    assert [t.shape for t in model.tensors][:3] == [(1, 4, 4, 3), (2, 3, 3, 3), (2,)]
    assert [t.dtype for t in model.tensors] == ["int8", "int8", "int32", "int8", "int32", "int8"]
    assert [t.data is None for t in model.tensors] == [True, False, False, True, False, True]
    kernel, bias = model.tensors[1:3]
    np.testing.assert_array_equal(kernel.data, KERNEL, strict=True)
    np.testing.assert_array_equal(bias.data, np.array([7, -70000], np.int32), strict=True)
    assert kernel.quantization is not None
    expected_scale = np.array([0.25, 0.75], np.float32)
    np.testing.assert_array_equal(kernel.quantization.scale, expected_scale, strict=True)
    np.testing.assert_array_equal(kernel.quantization.zero_point, [0, 0])
    assert kernel.quantization.zero_point.dtype == np.int64
    assert model.tensors[0].quantization is not None
    assert model.tensors[0].quantization.zero_point == [-3]
    assert model.tensors[4].quantization is None
    conv, reshape = model.operators
    assert (conv.index, conv.code, conv.version) == (0, "CONV_2D", 3)
    assert (conv.inputs, conv.outputs) == ((0, 1, 2), (3,))
    # Dilations were not written: the schema's default is 1.
    assert conv.options == Options(
        padding="VALID",
        stride=(1, 2),
        dilation=(1, 1),
        activation="RELU",
        quantized_bias_type="float32",
    )
    assert (reshape.index, reshape.code) == (1, "RESHAPE")
    assert reshape.options == Options(new_shape=None)


def test_what_lies_behind_a_constant_is_not_read() -> None:
    writer, rng = ModelWriter(), np.random.default_rng(0)
    encoding = Quantization.per_tensor(0.1, 0)
    x = writer.tensor("x", (2, 8), "int8", encoding)
    array = rng.integers(-128, 128, (5, 8)).astype(np.int8)
    w = writer.tensor("w", array.shape, "int8", encoding, array)
    writer._tensors[w] = replace(writer._tensors[w], shape=(3, 8))
    y = writer.tensor("y", (2, 3), "int8", encoding)
    writer.operator("FULLY_CONNECTED", [x, w], [y])
    content = writer.finish([x], [y])
    np.testing.assert_array_equal(read_model(content).tensors[w].data, array[:3])
    assert compare(content, [full_range(rng, "int8", (2, 8))], "llvm").differing == ()
    writer = ModelWriter()
    w = writer.tensor("w", (3,), "int8", Quantization.per_tensor(0.1, 0), np.ones(3, np.int8))
    writer._tensors[w] = replace(writer._tensors[w], shape=(0, 1 << 30, 1 << 30, 1 << 30))
    with pytest.raises(ModelFormatError, match=r"tensor 0 'w': no array has the shape \(0, 10737"):
        read_model(writer.finish([], [w]))


def same(a: Model, b: Model) -> bool:
    return a.operators == b.operators and [t.name for t in a.tensors] == [t.name for t in b.tensors]


def test_accepts_every_kind_of_source(tmp_path: Path) -> None:
    data = small_model()
    path = tmp_path / "small.tflite"
    path.write_bytes(data)
    expected = read_model(data)
    for source in (
        bytearray(data),
        memoryview(data),
        np.frombuffer(data, np.int8),
        path,
        str(path),
        tflite.Model.GetRootAs(data, 0),
        tflite.Model.GetRootAs(bytearray(data), 0),
    ):
        assert same(read_model(source), expected)


def test_a_damaged_or_missing_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "net.tflite"
    path.write_bytes(b"text")
    check_refused(path, rf"^{path}: not a TFLite file", ModelFormatError)
    with pytest.raises(FileNotFoundError):
        read_model(tmp_path / "none.tflite")


@pytest.mark.parametrize("source", [bytes, bytearray])
def test_constants_are_read_only_views(source: type) -> None:
    data = source(small_model())
    kernel = read_model(data).tensors[1].data
    assert kernel is not None
    assert np.shares_memory(kernel, np.frombuffer(data, np.uint8))
    assert not kernel.flags.writeable


def test_what_is_absent_or_empty() -> None:
    writer = ModelWriter()
    scalar = writer.tensor("scalar", (), "float32", data=np.array(1.5, np.float32))
    # An empty constant is stored as no data at all, yet nothing has to produce it.
    empty = writer.tensor("empty", (0,), "int32", data=np.zeros(0, np.int32))
    y = writer.tensor("y", (), "float32")
    writer.operator("RESHAPE", [scalar, empty], [y])
    model = read_model(writer.finish([], [y]))
    assert [t.shape for t in model.tensors] == [(), (0,), ()]
    assert model.tensors[0].data == np.float32(1.5)
    writer = ModelWriter()
    x, y = writer.tensor("x", (1, 4), "float32"), writer.tensor("y", (1, 2), "float32")
    w = writer.tensor("w", (2, 4), "float32", data=np.ones((2, 4), np.float32))
    writer.operator("FULLY_CONNECTED", [x, w, -1], [y])
    assert read_model(writer.finish([x], [y])).operators[0].inputs == (0, 2, -1)


@pytest.mark.parametrize(
    ("dtype", "encoding"),
    [
        ("float32", Quantization.per_tensor(0.0, 0)),
        ("bool", Quantization.per_tensor(0.0, 0)),
        ("int8", Quantization(np.zeros(0, np.float32), np.zeros(0, np.int64))),
    ],
)
def test_scales_of_real_numbers_and_none_are_left_out(dtype: str, encoding: Quantization) -> None:
    writer = ModelWriter()
    x = writer.tensor("x", (1, 4), dtype, encoding)
    assert read_model(writer.finish([x], [x])).tensors[0].quantization is None


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ({"DeprecatedBuiltinCode": 9, "BuiltinCode": 0}, "FULLY_CONNECTED"),
        ({"DeprecatedBuiltinCode": 0, "BuiltinCode": 9}, "FULLY_CONNECTED"),
        ({"DeprecatedBuiltinCode": 127, "BuiltinCode": 150}, "GELU"),
        ({"DeprecatedBuiltinCode": 127, "BuiltinCode": 9999}, "BUILTIN_9999"),
        ({"DeprecatedBuiltinCode": 32, "CustomCode": "Foo"}, "CUSTOM:Foo"),
    ],
)
def test_operator_codes(code: dict[str, Any], name: str) -> None:
    operator = read_model(raw_model(code={"Version": 6, **code})).operators[0]
    assert (operator.code, operator.version) == (name, 6)


def test_buffers_names_and_scales_may_be_odd() -> None:
    size = len(raw_model(buffer={"Offset": 2, "Size": 3}))
    data = raw_model(buffer={"Offset": size, "Size": 3}) + b"\x01\x02\xff"
    assert len(data) == size + 3
    np.testing.assert_array_equal(
        read_model(data).tensors[0].data, np.array([1, 2, -1], np.int8), strict=True
    )
    data = raw_model(name="weight").replace(b"weight", b"wei\xffht")
    assert read_model(data).tensors[0].name == "wei\\xffht"
    writer = ModelWriter()
    pruned = Quantization(np.array([0.0, 1.0], np.float32), np.zeros(2, np.int64))
    b = writer.tensor("b", (2,), "int32", pruned, np.zeros(2, np.int32))
    quantization = read_model(writer.finish([], [b])).tensors[0].quantization
    assert quantization is not None
    np.testing.assert_array_equal(quantization.scale, [0.0, 1.0])
    bounds = {"Min": np.array([-1], np.float32), "Max": np.array([1], np.float32)}
    assert read_model(raw_model(quantization=bounds)).tensors[0].quantization is None
    model = raw_model(buffer={"Offset": 1, "Size": 3}, is_variable=True)
    assert read_model(model).tensors[0].data is None


@pytest.mark.parametrize(
    ("kind", "dtype", "data"),
    [
        (tflite.TensorType.STRING, "string", np.zeros(3, np.uint8)),  # numpy lacks it: raw bytes
        (tflite.TensorType.INT4, "int8", np.zeros(5, np.int8)),
    ],
)
def test_other_types(kind: int, dtype: str, data: np.ndarray) -> None:
    tensor = read_model(raw_model(kind, shape=(5,))).tensors[0]
    assert tensor.dtype == dtype
    np.testing.assert_array_equal(tensor.data, data, strict=True)


@pytest.mark.skipif(not REAL_MODELS.is_dir(), reason="no ../shared/models/tflite")
@pytest.mark.parametrize("path", sorted(REAL_MODELS.glob("*.tflite")), ids=lambda path: path.stem)
def test_real_models_read_as_litert_reads_them(path: Path) -> None:
    model = read_model(path)
    interpreter = Interpreter(str(path), experimental_op_resolver_type=OpResolverType.BUILTIN_REF)
    interpreter.allocate_tensors()
    assert [d["index"] for d in interpreter.get_input_details()] == list(model.inputs)
    assert [d["index"] for d in interpreter.get_output_details()] == list(model.outputs)
    details = {detail["index"]: detail for detail in interpreter.get_tensor_details()}
    for tensor in model.tensors:
        detail = details[tensor.index]
        assert detail["name"] == tensor.name
        assert tuple(detail["shape"]) == tensor.shape
        assert np.dtype(detail["dtype"]).name == tensor.dtype
        expected = detail["quantization_parameters"]
        if tensor.quantization is None:
            assert expected["scales"].size == 0
        else:
            np.testing.assert_array_equal(tensor.quantization.scale, expected["scales"])
            np.testing.assert_array_equal(tensor.quantization.zero_point, expected["zero_points"])
            if tensor.quantization.is_per_channel:
                assert tensor.quantization.axis == expected["quantized_dimension"]
        if tensor.data is not None:
            values = interpreter.get_tensor(tensor.index)
            np.testing.assert_array_equal(tensor.data, values, strict=True)
    operators = interpreter._get_ops_details()
    assert len(operators) == len(model.operators)
    for operator, detail in zip(model.operators, operators, strict=True):
        assert detail["op_name"] == operator.code
        assert list(detail["inputs"]) == list(operator.inputs)
        assert list(detail["outputs"]) == list(operator.outputs)


POOL = tflite.BuiltinOptions.Pool2DOptions


def error_of(data: bytes | bytearray) -> str:
    with pytest.raises(ModelFormatError) as caught:
        read_model(data)
    return str(caught.value)


@pytest.mark.parametrize("data", [b"", b"TFL3", b"\x1c\0\0\0TFL2" + SMALL[8:], b"PK\3\4" * 9])
def test_not_a_tflite_file(data: bytes) -> None:
    assert "not a TFLite file: needs TFL3 at byte 4" in error_of(data)


@pytest.mark.parametrize("source", [None, 3, ["a"], object()])
def test_not_a_source(source: object) -> None:
    check_refused(source, "needs bytes, a path or a tflite", ModelFormatError)


def test_wild_numbers_are_errors() -> None:
    data = struct.pack("<I", 2**31) + SMALL[4:]
    assert "model: cannot read Version, the file is truncated or damaged" in error_of(data)
    assert "tensor 0 'w': shape is of 33 dimensions, needs at most 32" in error_of(
        raw_model(shape=(1,) * 33)
    )
    data = raw_model(shape=(2**31 - 1,) * 4)
    assert f"needs {(2**31 - 1) ** 4}" in error_of(data)
    for size in range(len(SMALL)):
        assert error_of(SMALL[:size])


def test_overlapping_vectors_do_not_hang() -> None:
    # 100,000 times one tensor with a name of 400,000 characters: 40 GB to read.
    data = raw_model(name="n" * 400_000, repeat=100_000)
    start = time.process_time()
    assert "the file's vectors overlap" in error_of(data)
    assert time.process_time() - start < 5


def tables(patch: at.Patch) -> dict[str, Any]:
    """Return the tables of the small model, by what they are or by their names."""
    graph = patch.subgraph
    named = {"model": patch.model, "subgraph": graph, "conv": patch.conv}
    named |= {"x": graph.Tensors(0), "k": graph.Tensors(1), "options": patch.options()}
    return {**named, "reshape": graph.Operators(1)}


CONV, GRAPH = "operator 0 CONV_2D", "subgraph 0:"

# A table, its vector of int32, an element (-1 is their count), another number, the error.
ELEMENTS: list[tuple[str, int, int, int, str]] = [
    *(
        ("subgraph", at.SUBGRAPH_TENSORS, -1, count, f"{GRAPH} Tensors has {large} elements, more…")
        for count, large in ((-1, 2**32 - 1), (2**31 - 1, 2**31 - 1), (100_000, 100_000))
    ),
    ("model", at.MODEL_SUBGRAPHS, -1, 0, "model: holds no subgraph"),
    ("subgraph", at.SUBGRAPH_TENSORS, -1, 0, f"{GRAPH} holds no tensors"),
    *(
        ("conv", at.OPERATOR_INPUTS, 1, index, f"{CONV}: inputs name tensor {index}, the subgraph…")
        for index in (6, -2, 2**31 - 1)
    ),
    ("conv", at.OPERATOR_OUTPUTS, 0, -1, f"{CONV}: outputs name tensor -1…"),
    ("subgraph", at.SUBGRAPH_OUTPUTS, 0, 6, f"{GRAPH} outputs name tensor 6, …has tensors 0 to 5"),
    ("model", at.MODEL_CODES, -1, 1, "operator 1: operator code is 1, the model has 1"),
    ("conv", at.OPERATOR_INPUTS, 0, 5, f"{CONV}: reads tensor 5 'z' before it has a value"),
    ("conv", at.OPERATOR_OUTPUTS, 0, 0, f"{CONV}: writes tensor 0 'x', which has a value already"),
    ("conv", at.OPERATOR_OUTPUTS, 0, 1, f"{CONV}: writes tensor 1 'k', which has a value already"),
    ("reshape", at.OPERATOR_OUTPUTS, -1, 0, "model: output tensor 5 'z' has no value"),
    ("x", at.TENSOR_SHAPE, 1, -1, "tensor 0 'x': shape is (1, -1, 4, 3), needs…"),
    ("k", at.TENSOR_SHAPE, 3, 4, "tensor 1 'k': …54 bytes, shape (2, 3, 3, 4) of int8 needs 72"),
]

# A table, its field and that field's layout, another number, the error.
FIELDS: list[tuple[str, int, str, int, str]] = [
    ("model", 0, "<I", 2, "model: schema version is 2, needs 3"),
    ("k", at.TENSOR_BUFFER, "<I", 99, "tensor 1 'k': buffer is 99, the model has 4 buffers"),
    ("x", at.TENSOR_TYPE, "<b", 77, "tensor 0 'x': Type is 77, not one of float32, float16…"),
    ("conv", at.OPERATOR_OPTIONS_TYPE, "<B", POOL, f"{CONV} options: are Pool2D…, needs Conv2D…"),
    ("options", at.CONV_STRIDE_W, "<i", 0, f"{CONV} options: StrideW is 0, needs at least 1"),
    ("options", at.CONV_STRIDE_W, "<i", -2, f"{CONV} options: StrideW is -2, needs at least 1"),
    ("options", at.CONV_PADDING, "<b", 2, f"{CONV} options: Padding is 2, not one of SAME, VALID"),
    ("options", at.CONV_ACTIVATION, "<b", 9, f"{CONV} options: FusedActivationFunction is 9, not…"),
]


@pytest.mark.parametrize(("table", "field", "place", "value", "message"), [*ELEMENTS, *FIELDS])
def test_a_damaged_number_is_one_error(
    table: str, field: int, place: int | str, value: int, message: str
) -> None:
    patch = at.Patch()
    change: Any = patch.field if isinstance(place, str) else patch.element
    change(tables(patch)[table], field, place, value)
    text = ".*".join(map(re.escape, message.split("…")))
    assert re.fullmatch(text, error_of(patch.data))


@pytest.mark.parametrize(("offset", "size"), [(10**6, 3), (2, 2**64 - 1)])
def test_buffer_outside_the_file(offset: int, size: int) -> None:
    data = raw_model(buffer={"Offset": offset, "Size": size})
    assert f"buffer 1: bytes {offset} to {offset + size} are outside a file of" in error_of(data)


@pytest.mark.parametrize(
    ("dtype", "scale", "zero_point", "axis", "message"),
    [
        ("int8", [1.0], [0, 0], 0, "1 scales but 2 zero points"),
        ("int8", [1.0], [], 0, "1 scales but 0 zero points"),
        ("int8", [1.0] * 4, [0] * 4, 0, "4 scales, axis 0 of shape (2, 3) needs 2"),
        ("int8", [1.0] * 2, [0] * 2, 1, "2 scales, axis 1 of shape (2, 3) needs 3"),
        ("int8", [1.0] * 2, [0] * 2, 2, "axis 2 is not in shape (2, 3)"),
        ("int8", [1.0] * 2, [0] * 2, -1, "axis -1 is not in shape (2, 3)"),
        ("int8", [1.0, np.nan], [0] * 2, 0, "scale 1 is nan, needs a positive number"),
        ("uint8", [0.0], [0], 0, "scale 0 is 0.0, needs a positive number"),
        ("int8", [1.0], [128], 0, "zero point 0 is 128, int8 needs -128 to 127"),
        ("int4", [1.0], [8], 0, "zero point 0 is 8, int4 needs -8 to 7"),
        ("uint8", [1.0], [-1], 0, "zero point 0 is -1, uint8 needs 0 to 255"),
        ("int32", [1.0], [2**31], 0, "zero point 0 is 2147483648, int32 needs"),
    ],
)
def test_malformed_quantization(
    dtype: str, scale: list[float], zero_point: list[int], axis: int, message: str
) -> None:
    quantization = Quantization(np.array(scale, np.float32), np.array(zero_point, np.int64), axis)
    writer = ModelWriter()
    x = writer.tensor("x", (2, 3), dtype, quantization)
    message = f"tensor 0 'x': malformed quantization: {message}"
    assert error_of(writer.finish([x], [x])).startswith(message)
