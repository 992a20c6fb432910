"""Small models for the tests of the reader."""

from __future__ import annotations

from typing import Any

import flatbuffers
import numpy as np
import tflite

from frontends.tflite.quantization import Quantization
from frontends.tflite.writer import ModelWriter

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


def vector_of_tables(builder: Any, offsets: list[int]) -> int:
    builder.StartVector(4, len(offsets), 4)
    for offset in reversed(offsets):
        builder.PrependUOffsetTRelative(offset)
    return int(builder.EndVector())


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
    text = builder.CreateString(name)
    dims = builder.CreateNumpyVector(np.array(shape, np.int32))
    parameters = None
    if quantization is not None:
        stored = {key: builder.CreateNumpyVector(value) for key, value in quantization.items()}
        tflite.QuantizationParametersStart(builder)
        for key, value in stored.items():
            getattr(tflite, f"QuantizationParametersAdd{key}")(builder, value)
        parameters = tflite.QuantizationParametersEnd(builder)
    tflite.TensorStart(builder)
    tflite.TensorAddShape(builder, dims)
    tflite.TensorAddType(builder, dtype)
    tflite.TensorAddBuffer(builder, 1)
    tflite.TensorAddName(builder, text)
    tflite.TensorAddIsVariable(builder, is_variable)
    if parameters is not None:
        tflite.TensorAddQuantization(builder, parameters)
    tensors = vector_of_tables(builder, [tflite.TensorEnd(builder)] * repeat)
    nothing = builder.CreateNumpyVector(np.zeros(0, np.int32))
    outputs = builder.CreateNumpyVector(np.zeros(1, np.int32))
    operators = []
    codes = []
    if code is not None:
        custom = builder.CreateString(code.pop("CustomCode", ""))
        tflite.OperatorCodeStart(builder)
        tflite.OperatorCodeAddCustomCode(builder, custom)
        for key, value in code.items():
            getattr(tflite, f"OperatorCodeAdd{key}")(builder, value)
        codes = [tflite.OperatorCodeEnd(builder)]
        tflite.OperatorStart(builder)
        tflite.OperatorAddInputs(builder, nothing)
        tflite.OperatorAddOutputs(builder, nothing)
        operators = [tflite.OperatorEnd(builder)]
    operator_vector = vector_of_tables(builder, operators)
    tflite.SubGraphStart(builder)
    tflite.SubGraphAddTensors(builder, tensors)
    tflite.SubGraphAddInputs(builder, nothing)
    tflite.SubGraphAddOutputs(builder, outputs)
    tflite.SubGraphAddOperators(builder, operator_vector)
    subgraphs = vector_of_tables(builder, [tflite.SubGraphEnd(builder)])
    tflite.BufferStart(builder)
    buffers = [tflite.BufferEnd(builder)]
    content = builder.CreateByteVector(bytes(3)) if buffer is None else None
    tflite.BufferStart(builder)
    if content is not None:
        tflite.BufferAddData(builder, content)
    for key, value in (buffer or {}).items():
        getattr(tflite, f"BufferAdd{key}")(builder, value)
    buffers.append(tflite.BufferEnd(builder))
    buffer_vector = vector_of_tables(builder, buffers)
    code_vector = vector_of_tables(builder, codes)
    tflite.ModelStart(builder)
    tflite.ModelAddVersion(builder, 3)
    tflite.ModelAddOperatorCodes(builder, code_vector)
    tflite.ModelAddSubgraphs(builder, subgraphs)
    tflite.ModelAddBuffers(builder, buffer_vector)
    builder.Finish(tflite.ModelEnd(builder), file_identifier=b"TFL3")
    return bytes(builder.Output())
