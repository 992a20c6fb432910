"""The writer, tested by LiteRT: its files must load, run and mean what was asked for."""

from typing import Any

import numpy as np
import pytest
import tflite

from frontends.tflite.quantization import Quantization
from frontends.tflite.writer import ModelWriter
from qnn_ops.errors import QnnError
from tests.support.errors import fails
from tvm_qnn.oracle import litert_tensors

X = (1, 6, 6, 4)


def picture(dtype: str, shape: tuple[int, ...] = X) -> np.ndarray:
    rng = np.random.default_rng(1)
    if dtype == "float32":
        return rng.random(shape, np.float32)
    limits = np.iinfo(dtype)
    return rng.integers(limits.min, limits.max, shape, dtype, endpoint=True)


def test_fused_activation_and_stride_options_are_obeyed() -> None:
    writer = ModelWriter()
    x = writer.tensor("x", (1, 4, 4, 1), "float32")
    w = writer.tensor("w", (1, 1, 1, 1), "float32", data=np.full((1, 1, 1, 1), 10, np.float32))
    b = writer.tensor("b", (1,), "float32", data=np.array([-5], np.float32))
    y = writer.tensor("y", (1, 2, 4, 1), "float32")
    writer.operator(
        "CONV_2D", [x, w, b], [y],
        padding="SAME", stride_h=2, stride_w=1, fused_activation_function="RELU_N1_TO_1",
    )  # fmt: skip
    data = picture("float32", (1, 4, 4, 1))
    result = litert_tensors(writer.finish([x], [y]), [data])[y]
    np.testing.assert_allclose(result, np.clip(data[:, ::2] * 10 - 5, -1, 1), rtol=1e-6)


@pytest.mark.parametrize("per_axis", [False, True])
@pytest.mark.parametrize(
    ("code", "kernel", "axis"),
    [("CONV_2D", (3, 1, 1, 4), 0), ("DEPTHWISE_CONV_2D", (1, 1, 1, 4), 3)],
)
def test_litert_takes_scales(code: str, kernel: tuple[int, ...], axis: int, per_axis: bool) -> None:
    """A 1x1 kernel of ones, times its own scales: the output can be told beforehand."""
    channels = kernel[axis]
    scale = np.array([0.5, 0.25, 1, 2][: channels if per_axis else 1], np.float32)
    zeros = np.zeros(scale.size, np.int64)
    writer = ModelWriter()
    x = writer.tensor("x", X, "int8", Quantization.per_tensor(1.0, 0))
    w = writer.tensor(
        "w", kernel, "int8", Quantization(scale, zeros, axis), np.ones(kernel, np.int8)
    )
    b = writer.tensor(
        "b", (channels,), "int32", Quantization(scale, zeros), np.zeros(channels, np.int32)
    )
    y = writer.tensor("y", (1, 6, 6, channels), "int8", Quantization.per_tensor(0.25, 0))
    options: dict[str, Any] = {} if code == "CONV_2D" else {"depth_multiplier": 1}
    writer.operator(code, [x, w, b], [y], padding="VALID", stride_w=1, stride_h=1, **options)
    data = picture("int8") // 32
    total = data if code == "DEPTHWISE_CONV_2D" else data.sum(-1, keepdims=True, dtype=np.int32)
    expected = np.broadcast_to(np.clip(total * scale / 0.25, -128, 127), (1, 6, 6, channels))
    np.testing.assert_array_equal(litert_tensors(writer.finish([x], [y]), [data])[y], expected)


def test_file_says_what_was_asked_for() -> None:
    writer = ModelWriter()
    scale = np.array([0.5, 0.25], np.float32)
    kernel = np.arange(8, dtype=np.int8).reshape(2, 1, 1, 4)
    x = writer.tensor("x", X, "int8", Quantization.per_tensor(1.0, -7))
    w = writer.tensor("w", kernel.shape, "int8", Quantization(scale, np.zeros(2, np.int64)), kernel)
    y = writer.tensor("y", (1, 6, 6, 2), "int8", Quantization.per_tensor(0.25, 0))
    writer.operator("CONV_2D", [x, w, -1], [y], padding="VALID", stride_w=2)
    writer.operator("GELU", [y], [y], version=9, approximate=True)
    model = tflite.Model.GetRootAs(writer.finish([x], [y], "a description"))
    graph = model.Subgraphs(0)
    assert model.Description() == b"a description"
    assert graph.InputsAsNumpy().tolist() == [x]
    assert graph.OutputsAsNumpy().tolist() == [y]
    assert graph.Tensors(x).Quantization().ZeroPointAsNumpy().tolist() == [-7]
    assert graph.Tensors(w).Quantization().ScaleAsNumpy().tolist() == scale.tolist()
    stored = model.Buffers(graph.Tensors(w).Buffer()).DataAsNumpy()
    np.testing.assert_array_equal(stored.view(np.int8), kernel.ravel())
    assert graph.Operators(0).InputsAsNumpy().tolist() == [x, w, -1]
    options = tflite.Conv2DOptions()
    table = graph.Operators(0).BuiltinOptions()
    options.Init(table.Bytes, table.Pos)
    assert (options.Padding(), options.StrideW(), options.StrideH()) == (tflite.Padding.VALID, 2, 0)
    codes = [model.OperatorCodes(i) for i in range(model.OperatorCodesLength())]
    assert [(c.BuiltinCode(), c.Version()) for c in codes] == [(3, 3), (150, 9)]
    assert [c.DeprecatedBuiltinCode() for c in codes] == [3, 127]


def test_vectors_of_options_have_the_dtypes_of_the_schema() -> None:
    writer = ModelWriter()
    x = writer.tensor("x", X, "float32")
    writer.operator(
        "STABLEHLO_CONVOLUTION", [x, x], [x],
        window_strides=[1 << 40, 1], window_reversal=[True], precision_config=[2],
    )  # fmt: skip
    table = tflite.Model.GetRootAs(writer.finish([x], [x])).Subgraphs(0).Operators(0)
    contents = table.BuiltinOptions2()
    options = tflite.StablehloConvolutionOptions()
    options.Init(contents.Bytes, contents.Pos)
    assert options.WindowStridesAsNumpy().tolist() == [1 << 40, 1]
    assert options.WindowReversalAsNumpy().tolist() == [True]
    assert options.PrecisionConfigAsNumpy().tolist() == [2]


def test_constants_are_aligned_to_16_bytes() -> None:
    writer = ModelWriter()
    payloads = [np.full(n, 200 + i, np.uint8) for i, n in enumerate((1, 3, 17, 100))]
    for i, data in enumerate(payloads):
        writer.tensor(f"c{i}", data.shape, "uint8", data=data)
    model = writer.finish([], [])
    assert [model.index(data.tobytes()) % 16 for data in payloads] == [0, 0, 0, 0]


@pytest.mark.parametrize(
    ("code", "options", "message"),
    [
        ("CONV_3", {}, "no builtin operator 'CONV_3'"),
        ("CUSTOM", {}, "no builtin operator 'CUSTOM'"),
        ("RELU", {"alpha": 1}, "RELU .* has no options, got 'alpha'"),
        ("SOFTMAX", {"gamma": 1}, "SOFTMAX .* no option 'gamma'; it has beta"),
        ("ABS", {"gamma": 1}, "ABS .* no option 'gamma'; it has none"),
        ("CONV_2D", {"padding": "FULL"}, "padding must be one of SAME, VALID; got 'FULL'"),
        ("ADD", {"fused_activation_function": "GELU"}, "must be one of NONE, RELU.*'GELU'"),
        ("ARG_MAX", {"output_type": "int31"}, "output_type must be one of .*int32.*'int31'"),
    ],
)
def test_wrong_operator_or_option(code: str, options: dict[str, Any], message: str) -> None:
    writer = ModelWriter()
    x = writer.tensor("x", X, "float32")
    fails(message, writer.operator, code, [x], [x], **options)


def test_wrong_dtype_data_or_index() -> None:
    writer = ModelWriter()
    fails("'x': TFLite has no dtype 'int7'", writer.tensor, "x", X, "int7")
    with pytest.raises(QnnError, match=r"'x': data must be int8 of shape \(2,\), got uint8"):
        writer.tensor("x", (2,), "int8", data=np.zeros(2, np.uint8))
    fails(r"got int8 of shape \(3,\)", writer.tensor, "x", (2,), "int8", data=np.zeros(3, np.int8))
    x = writer.tensor("x", X, "float32")
    fails(r"RELU .*: no tensor 1, there are 1 tensors", writer.operator, "RELU", [1], [x])
    fails("no tensor -1", writer.operator, "RELU", [x], [-1])
    fails(r"^outputs: no tensor 3", writer.finish, [x], [3])
