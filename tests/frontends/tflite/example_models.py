"""Small models for the tests of the reader."""

from typing import Any

import flatbuffers
import numpy as np
import tflite

from frontends.tflite.quantization import Quantization
from frontends.tflite.writer import ModelWriter
from frontends.tflite.writer_tables import TableToWrite, encode, integers

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
    table = TableToWrite(
        "Tensor",
        Shape=integers(shape),
        Type=dtype,
        Buffer=1,
        Name=name,
        IsVariable=is_variable,
        Quantization=quantization and TableToWrite("QuantizationParameters", **quantization),
    )
    tensor = encode(builder, table)  # repeated tensors are one table
    operators, codes, none = [], [], integers(())
    if code is not None:
        codes = [TableToWrite("OperatorCode", **{"CustomCode": "", **code})]
        operators = [TableToWrite("Operator", Inputs=none, Outputs=none)]
    graph = {"Tensors": [tensor] * repeat, "Operators": operators}
    held = {"Data": bytes(3)} if buffer is None else buffer
    model = TableToWrite(
        "Model",
        Version=3,
        OperatorCodes=codes,
        Subgraphs=[TableToWrite("SubGraph", **graph, Inputs=none, Outputs=integers((0,)))],
        Buffers=[TableToWrite("Buffer"), TableToWrite("Buffer", **held)],
    )
    builder.Finish(encode(builder, model), file_identifier=b"TFL3")
    return bytes(builder.Output())
