"""Small models for the tests of the reader."""

from typing import Any

import flatbuffers
import numpy as np
import tflite

from frontends.tflite.quantization import Quantization
from frontends.tflite.writer import ModelWriter
from frontends.tflite.writer_tables import (
    encode_buffer,
    encode_offsets,
    encode_subgraph,
    encode_table,
)

KERNEL = np.arange(-27, 27, dtype=np.int8).reshape(2, 3, 3, 3)


def small_model(kernel: Any = KERNEL, **options: Any) -> bytes:
    """Return a model of a convolution, whose options may be others, and a reshape."""
    writer = ModelWriter()
    x = writer.tensor("x", (1, 4, 4, 3), "int8", Quantization.per_tensor(0.5, -3))
    scales, zeros = np.array([0.25, 0.75], np.float32), np.zeros(2, np.int64)
    weights = writer.tensor("k", kernel.shape, "int8", Quantization(scales, zeros, 0), kernel)
    biases = np.array([7, -70000], np.int32)
    bias = writer.tensor("b", (2,), "int32", Quantization(scales / np.float32(2), zeros, 0), biases)
    y = writer.tensor("y", (1, 2, 2, 2), "int8", Quantization.per_tensor(2.0, 5))
    shape = writer.tensor("shape", (2,), "int32", data=np.array([1, 8], np.int32))
    z = writer.tensor("z", (1, 8), "int8", Quantization.per_tensor(2.0, 5))
    window = {"padding": "VALID", "stride_h": 1, "stride_w": 2, "fused_activation_function": "RELU"}
    writer.operator("CONV_2D", [x, weights, bias], [y], **{**window, **options})
    writer.operator("RESHAPE", [y, shape], [z])
    return writer.finish([x], [z], "a small model")


def raw_model(
    dtype: int = tflite.TensorType.INT8,
    *,
    name: str = "w",
    shape: tuple[int, ...] = (3,),
    buffer: dict[str, Any] | None = None,
    code: dict[str, Any] | None = None,
    quantization: dict[str, np.ndarray] | None = None,
    is_variable: bool = False,
    repeat: int = 1,
) -> bytes:
    """Return a model with one tensor, its output, for what ModelWriter does not write."""
    builder = flatbuffers.Builder(1024)
    custom, known = dict(code or {}), None
    if quantization is not None:
        stored = {key: builder.CreateNumpyVector(value) for key, value in quantization.items()}
        known = encode_table(builder, "QuantizationParameters", **stored)
    tensor = encode_table(
        builder,
        "Tensor",
        Shape=builder.CreateNumpyVector(np.array(shape, np.int32)),
        Type=dtype,
        Buffer=1,
        Name=builder.CreateString(name),
        IsVariable=is_variable,
        Quantization=known,
    )
    operators, codes = [], []
    if code is not None:
        custom["CustomCode"] = builder.CreateString(custom.get("CustomCode", ""))
        codes = [encode_table(builder, "OperatorCode", **custom)]
        nothing = builder.CreateNumpyVector(np.zeros(0, np.int32))
        operators = [encode_table(builder, "Operator", Inputs=nothing, Outputs=nothing)]
    tensors, nodes = (encode_offsets(builder, each) for each in ([tensor] * repeat, operators))
    subgraph = encode_subgraph(builder, tensors, (), (0,), nodes)
    held = {"Data": builder.CreateByteVector(bytes(3))} if buffer is None else buffer
    buffers = [encode_buffer(builder, b""), encode_table(builder, "Buffer", **held)]
    model = encode_table(
        builder,
        "Model",
        Version=3,
        OperatorCodes=encode_offsets(builder, codes),
        Subgraphs=encode_offsets(builder, [subgraph]),
        Buffers=encode_offsets(builder, buffers),
    )
    builder.Finish(model, file_identifier=b"TFL3")
    return bytes(builder.Output())
