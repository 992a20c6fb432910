"""Hostile TFLite files; each is small and has one fault, which its error names."""

import struct
from collections.abc import Callable, Iterator
from operator import attrgetter, methodcaller
from typing import Any

import numpy as np
import tflite
from flatbuffers import flexbuffers

from frontends.tflite.quantization import Quantization
from frontends.tflite.writer import ModelWriter
from tests.frontends.tflite.example_models import raw_model
from tests.fuzz.corpus import inner_cases
from tests.fuzz.corpus.case import Case
from tests.support.tflite import Q, Sheet, fixed, one, x
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

_UNSUPPORTED = "UnsupportedOperatorError"


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


_Pick = Callable[[Patch], Any]
_model: _Pick = attrgetter("model")
_graph: _Pick = attrgetter("subgraph")
_conv: _Pick = attrgetter("conv")
_options: _Pick = methodcaller("options")


def _kernel(patch: Patch) -> Any:
    return patch.subgraph.Tensors(1)


def _reshape(patch: Patch) -> Any:
    return patch.subgraph.Operators(1)


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
        data = writer.tensor("x", (2, 3), "int8", encoding)
        yield f"scale_{name}", writer.finish([data], [data]), message


def _operators() -> Iterator[tuple[str, bytes, str, str]]:
    def relu(scale: float, out_scale: float) -> Sheet:
        inner, outer = (Quantization.per_tensor(each, 0) for each in (scale, out_scale))
        return one("RELU", x(1, 4, encoding=inner), gives=((1, 4), "int8", outer))

    given = x(1, 4)
    whole = one("SOFTMAX", given, gives="int32")
    itself = {"cond_subgraph_index": 0, "body_subgraph_index": 0}
    rows: tuple[tuple[str, Sheet, str, str], ...] = (
        ("calls_itself", one("WHILE", x(1), **itself), _UNSUPPORTED, "WHILE"),
        ("denormal_scales", relu(1e-45, 1e-45), "", ""),
        ("scale_infinite", relu(np.inf, np.inf), "QnnError", "has the scale inf"),
        ("scale_negative", relu(-0.5, -0.5), "QnnError", "has the scale -0.5"),
        ("huge_scales", relu(3e38, 1e-38), "QnnError", "the scales do not go"),
        ("result_of_other_shape", one("RELU", given, gives=((1, 5), "int8", Q)), "", ""),
        ("result_of_other_dtype", whole, _UNSUPPORTED, "of type int32, int8"),
        ("huge_result", one("RESHAPE", given, [2**16, 2**15]), "QnnError", "reshape"),
        ("huge_pad", one("PAD", given, [[2**30] * 2, [0, 0]]), _UNSUPPORTED, "elements"),
        ("negative_pad", one("PAD", given, [[-1, -1], [0, 0]]), "QnnError", "-1"),
        ("huge_resize", one("RESIZE_NEAREST_NEIGHBOR", x(1, 2, 2, 1), [2**15] * 2), "", ""),
    )
    for name, sheet, error, message in rows:
        yield name, sheet.model(), error, message
    content = one("RELU", given).model()
    assert content.count(b"\2\0\0\0x1") == 1
    yield "name_is_no_text", content.replace(b"\2\0\0\0x1", b"\2\0\0\0x\xff"), "", ""
    yield "shared_buffer", _shared(), "", ""
    yield "custom_operator", _custom(), _UNSUPPORTED, "CUSTOM"


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


def _layer(code: str, data: tuple[int, ...], weights: tuple[int, ...], dtype: str) -> bytes:
    constant = fixed(np.ones(weights), dtype, Q if dtype == "int8" else None)
    return one(code, x(*data, dtype="float32"), constant).model()


def _detectors() -> Iterator[tuple[str, bytes, str]]:
    """Yield detectors whose options, a flexbuffers map, are damaged."""
    options: dict[str, Any] = {"max_detections": 3, "num_classes": 2, "y_scale": 5}
    operands = (x(*shape, dtype="float32") for shape in ((1, 3, 4), (1, 3, 2), (3, 4)))
    code = "CUSTOM:TFLite_Detection_PostProcess"
    content = one(code, *operands, gives=["float32"] * 4, **options).model()
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


def _shared() -> bytes:
    """Two constants of different encodings in one buffer, which is no fault."""
    sheet, data = Sheet(), np.arange(4, dtype=np.int8).reshape(1, 4)
    constants = [sheet.constant(data, Quantization.per_tensor(0.5, zero)) for zero in (0, 7)]
    added = sheet.input(data, Q)
    for each in constants:
        added = sheet.operator("ADD", [added, each], ((1, 4), "int8", Q))
    patch = Patch(sheet.model())
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
