"""Hostile TFLite files; each is small and has one fault, which its error names."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

import flatbuffers
import numpy as np
import tflite
from flatbuffers import flexbuffers

from frontends.tflite.quantization import Quantization
from frontends.tflite.writer import ModelWriter
from tests.frontends.tflite.example_models import raw_model, vector_of_tables
from tests.fuzz.corpus import inner_cases
from tests.fuzz.corpus.case import Case
from tests.support.tflite_patch import (
    CONV_STRIDE_W,
    MODEL_BUFFERS,
    MODEL_CODES,
    MODEL_SUBGRAPHS,
    OPERATOR_CODE,
    OPERATOR_INPUTS,
    OPERATOR_OPTIONS_TYPE,
    OPERATOR_OUTPUTS,
    SMALL,
    SUBGRAPH_INPUTS,
    SUBGRAPH_OUTPUTS,
    SUBGRAPH_TENSORS,
    TENSOR_BUFFER,
    TENSOR_SHAPE,
    TENSOR_TYPE,
    Patch,
)

ENCODING = Quantization.per_tensor(0.5, 0)


def cases() -> Iterator[Case]:
    for name, content, message in [*_bytes(), *_fields(), *_models()]:
        yield Case(f"tflite_{name}", {"tflite": bytes(content)}, "ModelFormatError", message)
    for name, content, message in _detectors():
        yield Case(f"tflite_{name}", {"tflite": content}, "ModelFormatError", message)
    for name, content, error, message in [*_operators(), *_real_layers(), *inner_cases.cases()]:
        yield Case(f"tflite_{name}", {"tflite": content}, error, message)


def _bytes() -> Iterator[tuple[str, bytes, str]]:
    yield "empty", b"", "not a TFLite file"
    yield "only_identifier", b"\x1c\0\0\0TFL3", "truncated or damaged"
    yield "half", SMALL[: len(SMALL) // 2], "cannot read Buffers, the file is truncated"
    yield "last_byte_missing", SMALL[:-1], "buffer 0: cannot read Data, the file is truncated"
    yield "wild_root", struct.pack("<I", 2**31) + SMALL[4:], "truncated or damaged"
    yield "all_ones", SMALL[:8] + b"\xff" * (len(SMALL) - 8), "cannot read Version"
    yield "flipped_identifier", SMALL[:7] + b"2" + SMALL[8:], "not a TFLite file"


def _fields() -> Iterator[tuple[str, bytes, str]]:
    for name, pick, number, index, value, message in (
        ("no_subgraph", _model, MODEL_SUBGRAPHS, -1, 0, "subgraph"),
        ("huge_count_of_codes", _model, MODEL_CODES, -1, 2**31 - 1, "elements, more than"),
        ("huge_count_of_buffers", _model, MODEL_BUFFERS, -1, -1, "elements, more than"),
        ("huge_count_of_tensors", _graph, SUBGRAPH_TENSORS, -1, 10**6, "elements, more than"),
        ("wild_offset_of_tensor", _graph, SUBGRAPH_TENSORS, 0, 2**31 - 8, "damaged"),
        ("missing_tensor", _conv, OPERATOR_INPUTS, 0, 99, "99"),
        ("negative_tensor", _conv, OPERATOR_OUTPUTS, 0, -7, "-7"),
        ("reads_its_own_result", _conv, OPERATOR_INPUTS, 0, 3, "before it has a value"),
        ("reads_in_a_circle", _conv, OPERATOR_INPUTS, 0, 5, "before it has a value"),
        ("writes_its_operand", _conv, OPERATOR_OUTPUTS, 0, 0, "which has a value already"),
        ("writes_a_constant", _conv, OPERATOR_OUTPUTS, 0, 1, "which has a value already"),
        ("graph_input_missing", _graph, SUBGRAPH_INPUTS, 0, 2**31 - 1, "2147483647"),
        ("graph_output_negative", _graph, SUBGRAPH_OUTPUTS, 0, -2, "-2"),
        ("negative_dimension", _kernel, TENSOR_SHAPE, 1, -3, "-3"),
        ("overflowing_shape", _kernel, TENSOR_SHAPE, 1, 2**31 - 1, "2147483647"),
        ("huge_rank", _kernel, TENSOR_SHAPE, -1, 2**20, "more than"),
    ):
        patch = Patch()
        patch.element(pick(patch), number, index, value)
        yield name, bytes(patch.data), message
    for name, pick, number, layout, value, message in (
        ("no_such_code", _reshape, OPERATOR_CODE, "<I", 2**32 - 1, "4294967295"),
        ("options_of_a_pool", _conv, OPERATOR_OPTIONS_TYPE, "<B", 5, "needs Conv2DOptions"),
        ("stride_0", _options, CONV_STRIDE_W, "<i", 0, "StrideW is 0"),
        ("no_such_dtype", _kernel, TENSOR_TYPE, "<b", 99, "99"),
        ("constant_of_wrong_dtype", _kernel, TENSOR_TYPE, "<b", 2, "bytes"),
        ("no_such_buffer", _kernel, TENSOR_BUFFER, "<I", 10**6, "1000000"),
        ("anothers_buffer", _kernel, TENSOR_BUFFER, "<I", 2, "bytes"),
    ):
        patch = Patch()
        patch.field(pick(patch), number, layout, value)
        yield name, bytes(patch.data), message


def _model(patch: Patch) -> Any:
    return patch.model


def _graph(patch: Patch) -> Any:
    return patch.subgraph


def _conv(patch: Patch) -> Any:
    return patch.conv


def _options(patch: Patch) -> Any:
    return patch.options()


def _reshape(patch: Patch) -> Any:
    return patch.subgraph.Operators(1)


def _kernel(patch: Patch) -> Any:
    return patch.subgraph.Tensors(1)


def _models() -> Iterator[tuple[str, bytes, str]]:
    yield "buffer_outside", raw_model(buffer={"Offset": 2**62, "Size": 2**62}), "outside a file"
    for name, scale, point, axis, message in (
        ("nan", [np.nan], [0], 0, "scale 0 is nan"),
        ("zero", [0.0], [0], 0, "scale 0 is 0.0"),
        ("per_axis_too_few", [1.0, 1.0], [0, 0], 1, "2 scales, axis 1"),
        ("per_axis_no_axis", [1.0, 1.0], [0, 0], 7, "axis 7 is not in shape"),
        ("points_missing", [1.0, 1.0], [0], 0, "2 scales but 1 zero points"),
        ("point_128", [1.0], [128], 0, "zero point 0 is 128"),
        ("point_2_62", [1.0], [-(2**62)], 0, "zero point 0 is -4611686018427387904"),
    ):
        encoding = Quantization(np.array(scale, np.float32), np.array(point, np.int64), axis)
        writer = ModelWriter()
        x = writer.tensor("x", (2, 3), "int8", encoding)
        yield f"scale_{name}", writer.finish([x], [x]), message


def _operators() -> Iterator[tuple[str, bytes, str, str]]:
    yield "calls_itself", _recursive(), "UnsupportedOperatorError", "WHILE"
    yield "denormal_scales", _unary("RELU", 1e-45), "", ""
    yield "scale_infinite", _unary("RELU", np.inf), "QnnError", "has the scale inf"
    yield "scale_negative", _unary("RELU", -0.5), "QnnError", "has the scale -0.5"
    yield "huge_scales", _unary("RELU", 3e38, 1e-38), "QnnError", "the scales do not go"
    yield "result_of_other_shape", _unary("RELU", shape=(1, 5)), "", ""
    other = _unary("SOFTMAX", dtype="int32")
    yield "result_of_other_dtype", other, "UnsupportedOperatorError", "of type int32, int8"
    yield "huge_result", _unary("RESHAPE", shape=(2**16, 2**15)), "QnnError", "reshape"
    yield "huge_pad", _padded(2**30), "UnsupportedOperatorError", "elements"
    yield "negative_pad", _padded(-1), "QnnError", "-1"
    yield "huge_resize", _resized(2**15), "", ""
    yield "name_is_no_text", _unary("RELU").replace(b"\1\0\0\0x", b"\1\0\0\0\xff"), "", ""
    yield "shared_buffer", _shared(), "", ""
    yield "custom_operator", _custom(), "UnsupportedOperatorError", "CUSTOM"


def _real_layers() -> Iterator[tuple[str, bytes, str, str]]:
    """Yield layers of float32 data, with weights of int8 or float32, that do not go together."""
    image = (1, 4, 4, 2)
    conv, dense = "CONV_2D", "FULLY_CONNECTED"
    for name, code, data, weights, error, message in (
        ("one_scale", "DEPTHWISE_CONV_2D", image, (1, 1, 1, 2), _UNSUPPORTED, "one scale for 2"),
        ("no_depth", dense, (1, 4), (3, 0), "QnnError", "no whole rows of 0"),
        ("other_depth", dense, (1, 4), (3, 5), "QnnError", "no whole rows of 5"),
        ("deep_kernel", conv, image, (1, 1, 1, 5), "QnnError", ""),
        ("kernel_of_nothing", conv, image, (3, 0, 1, 2), "QnnError", "window"),
        ("large_window", conv, image, (3, 9, 9, 2), "QnnError", "9 pixels along the height"),
        ("other_matrix", "BATCH_MATMUL", (2, 4), (5, 3), "QnnError", "have no product"),
        ("six_dimensions", "BATCH_MATMUL", (1,) * 6, (1, 1), "QnnError", "2 to 5 dimensions"),
    ):
        yield f"hybrid_{name}", _layer(code, data, weights, "int8"), error, message
        if name != "one_scale":
            yield f"float_{name}", _layer(code, data, weights, "float32"), error, message


_UNSUPPORTED = "UnsupportedOperatorError"


def _layer(code: str, data: tuple[int, ...], weights: tuple[int, ...], dtype: str) -> bytes:
    writer = ModelWriter()
    x = writer.tensor("x", data, "float32")
    encoding = ENCODING if dtype == "int8" else None
    w = writer.tensor("w", weights, dtype, encoding, np.ones(weights, dtype))
    y = writer.tensor("y", (1,), "float32")
    options: dict[str, Any] = {}
    if "CONV" in code:
        steps = ("stride_h", "stride_w", "dilation_h_factor", "dilation_w_factor")
        options = {"padding": "VALID", **dict.fromkeys(steps, 1)}
    writer.operator(code, [x, w], [y], **options)
    return writer.finish([x], [y])


def _detectors() -> Iterator[tuple[str, bytes, str]]:
    """Yield detectors whose options, a flexbuffers map, are damaged."""
    options: dict[str, Any] = {"max_detections": 3, "num_classes": 2, "y_scale": 5}
    writer = ModelWriter()
    operands = [
        writer.tensor(name, shape, "float32")
        for name, shape in (("b", (1, 3, 4)), ("s", (1, 3, 2)), ("a", (3, 4)))
    ]
    results = [writer.tensor(name, (1,), "float32") for name in "wxyz"]
    writer.operator("CUSTOM:TFLite_Detection_PostProcess", operands, results, **options)
    content = writer.finish(operands, results)
    good = bytes(flexbuffers.Dumps(options))
    assert good in content
    for name, bad in (
        ("all_ones", b"\xff" * len(good)),
        ("zeros", bytes(len(good))),
        ("no_map", good[:-2] + b"\x04\x01"),
        ("wide", good[:-1] + b"\x08"),
        ("wild_offset", good[:-3] + b"\xff" + good[-2:]),
    ):
        yield f"options_{name}", content.replace(good, bad), "options: cannot read max_detections"


def _unary(
    code: str,
    scale: float = 0.5,
    out_scale: float | None = None,
    shape: tuple[int, ...] = (1, 4),
    dtype: str = "int8",
) -> bytes:
    writer = ModelWriter()
    x = writer.tensor("x", (1, 4), "int8", Quantization.per_tensor(scale, 0))
    encoding = Quantization.per_tensor(scale if out_scale is None else out_scale, 0)
    y = writer.tensor("y", shape, dtype, encoding)
    operands = [x]
    if code == "RESHAPE":
        operands.append(writer.tensor("s", (2,), "int32", None, np.array(shape, np.int32)))
    writer.operator(code, operands, [y])
    return writer.finish([x], [y])


def _padded(width: int) -> bytes:
    writer = ModelWriter()
    x = writer.tensor("x", (1, 4), "int8", ENCODING)
    widths = np.array([[width, width], [0, 0]], np.int32)
    w = writer.tensor("w", (2, 2), "int32", None, widths)
    y = writer.tensor("y", (1, 4), "int8", ENCODING)
    writer.operator("PAD", [x, w], [y])
    return writer.finish([x], [y])


def _resized(size: int) -> bytes:
    writer = ModelWriter()
    x = writer.tensor("x", (1, 2, 2, 1), "int8", ENCODING)
    sizes = writer.tensor("s", (2,), "int32", None, np.array([size, size], np.int32))
    y = writer.tensor("y", (1, size, size, 1), "int8", ENCODING)
    writer.operator("RESIZE_NEAREST_NEIGHBOR", [x, sizes], [y])
    return writer.finish([x], [y])


def _shared() -> bytes:
    """Two constants of different encodings in one buffer, which is no fault."""
    writer = ModelWriter()
    x = writer.tensor("x", (1, 4), "int8", ENCODING)
    data = np.arange(4, dtype=np.int8).reshape(1, 4)
    constants = [
        writer.tensor(f"c{zero}", (1, 4), "int8", Quantization.per_tensor(0.5, zero), data)
        for zero in (0, 7)
    ]
    y, z = (writer.tensor(name, (1, 4), "int8", ENCODING) for name in "yz")
    writer.operator("ADD", [x, constants[0]], [y])
    writer.operator("ADD", [y, constants[1]], [z])
    patch = Patch(writer.finish([x], [z]))
    first, second = (patch.subgraph.Tensors(index) for index in constants)
    patch.field(second, TENSOR_BUFFER, "<I", first.Buffer())
    return bytes(patch.data)


def _custom() -> bytes:
    code = {
        "CustomCode": "a" * 300,
        "BuiltinCode": tflite.BuiltinOperator.CUSTOM,
        "DeprecatedBuiltinCode": tflite.BuiltinOperator.CUSTOM,
    }
    return raw_model(code=code)


def _recursive() -> bytes:
    """Return a WHILE whose condition and body are its own subgraph."""
    builder = flatbuffers.Builder(1024)
    name = builder.CreateString("x")
    shape = builder.CreateNumpyVector(np.array([1], np.int32))
    tflite.TensorStart(builder)
    tflite.TensorAddShape(builder, shape)
    tflite.TensorAddType(builder, tflite.TensorType.INT8)
    tflite.TensorAddName(builder, name)
    tensor = tflite.TensorEnd(builder)
    tflite.TensorStart(builder)
    tflite.TensorAddShape(builder, shape)
    tflite.TensorAddType(builder, tflite.TensorType.INT8)
    tensors = vector_of_tables(builder, [tensor, tflite.TensorEnd(builder)])
    first = builder.CreateNumpyVector(np.array([0], np.int32))
    second = builder.CreateNumpyVector(np.array([1], np.int32))
    tflite.WhileOptionsStart(builder)
    tflite.WhileOptionsAddCondSubgraphIndex(builder, 0)
    tflite.WhileOptionsAddBodySubgraphIndex(builder, 0)
    options = tflite.WhileOptionsEnd(builder)
    tflite.OperatorStart(builder)
    tflite.OperatorAddInputs(builder, first)
    tflite.OperatorAddOutputs(builder, second)
    tflite.OperatorAddBuiltinOptionsType(builder, tflite.BuiltinOptions.WhileOptions)
    tflite.OperatorAddBuiltinOptions(builder, options)
    operators = vector_of_tables(builder, [tflite.OperatorEnd(builder)])
    tflite.SubGraphStart(builder)
    tflite.SubGraphAddTensors(builder, tensors)
    tflite.SubGraphAddInputs(builder, first)
    tflite.SubGraphAddOutputs(builder, second)
    tflite.SubGraphAddOperators(builder, operators)
    subgraphs = vector_of_tables(builder, [tflite.SubGraphEnd(builder)])
    tflite.OperatorCodeStart(builder)
    tflite.OperatorCodeAddDeprecatedBuiltinCode(builder, tflite.BuiltinOperator.WHILE)
    tflite.OperatorCodeAddBuiltinCode(builder, tflite.BuiltinOperator.WHILE)
    codes = vector_of_tables(builder, [tflite.OperatorCodeEnd(builder)])
    tflite.BufferStart(builder)
    buffers = vector_of_tables(builder, [tflite.BufferEnd(builder)])
    tflite.ModelStart(builder)
    tflite.ModelAddVersion(builder, 3)
    tflite.ModelAddOperatorCodes(builder, codes)
    tflite.ModelAddSubgraphs(builder, subgraphs)
    tflite.ModelAddBuffers(builder, buffers)
    builder.Finish(tflite.ModelEnd(builder), file_identifier=b"TFL3")
    return bytes(builder.Output())
