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
from tests.support.arrays import full_range
from tests.support.tflite import check_refused
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
