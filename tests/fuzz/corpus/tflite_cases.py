"""Hostile TFLite files; each is small and has one fault, which its error names."""

from collections.abc import Iterator

import numpy as np

from frontends.tflite.quantization import Quantization
from tests.fuzz.corpus import inner_cases
from tests.fuzz.corpus.case import Case
from tests.support.tflite import Q, Sheet, fixed, one, x
from tests.support.tflite_patch import SUBGRAPH_TENSORS, TENSOR_BUFFER, TENSOR_SHAPE, Patch

_UNSUPPORTED = "UnsupportedOperatorError"


def cases() -> Iterator[Case]:
    for name, content, message in _fields():
        yield Case(f"tflite_{name}", {"tflite": content}, "ModelFormatError", message)
    for name, content, error, message in [*_operators(), *_real_layers(), *inner_cases.cases()]:
        yield Case(f"tflite_{name}", {"tflite": content}, error, message)


def _fields() -> Iterator[tuple[str, bytes, str]]:
    """Yield counts and sizes for which a reader that believes them runs out of memory."""
    for name, number, index, value, message in (
        ("huge_count_of_tensors", SUBGRAPH_TENSORS, -1, 10**6, "elements, more than"),
        ("overflowing_shape", TENSOR_SHAPE, 1, 2**31 - 1, "2147483647"),
        ("huge_rank", TENSOR_SHAPE, -1, 2**20, "more than"),
    ):
        patch = Patch()
        table = patch.subgraph if number == SUBGRAPH_TENSORS else patch.subgraph.Tensors(1)
        patch.element(table, number, index, value)
        yield name, bytes(patch.data), message


def _operators() -> Iterator[tuple[str, bytes, str, str]]:
    def relu(scale: float, out_scale: float) -> Sheet:
        inner, outer = (Quantization.per_tensor(each, 0) for each in (scale, out_scale))
        return one("RELU", x(1, 4, encoding=inner), gives=((1, 4), "int8", outer))

    given = x(1, 4)
    itself = {"cond_subgraph_index": 0, "body_subgraph_index": 0}
    rows: tuple[tuple[str, Sheet, str, str], ...] = (
        ("calls_itself", one("WHILE", x(1), **itself), _UNSUPPORTED, "WHILE"),
        ("denormal_scales", relu(1e-45, 1e-45), "", ""),
        ("huge_scales", relu(3e38, 1e-38), "QnnError", "the scales do not go"),
        ("result_of_other_shape", one("RELU", given, gives=((1, 5), "int8", Q)), "", ""),
        ("huge_result", one("RESHAPE", given, [2**16, 2**15]), "QnnError", "reshape"),
        ("huge_pad", one("PAD", given, [[2**30] * 2, [0, 0]]), _UNSUPPORTED, "elements"),
        ("huge_resize", one("RESIZE_NEAREST_NEIGHBOR", x(1, 2, 2, 1), [2**15] * 2), "", ""),
    )
    for name, sheet, error, message in rows:
        yield name, sheet.model(), error, message
    content = one("RELU", given).model()
    assert content.count(b"\2\0\0\0x1") == 1
    yield "name_is_no_text", content.replace(b"\2\0\0\0x1", b"\2\0\0\0x\xff"), "", ""
    yield "shared_buffer", _shared(), "", ""


def _real_layers() -> Iterator[tuple[str, bytes, str, str]]:
    """Yield layers of float32 data, with weights of int8 or float32, that do not go together."""
    image = (1, 4, 4, 2)
    conv = "CONV_2D"
    for name, code, data, weights, error, message in (
        ("kernel_of_nothing", conv, image, (3, 0, 1, 2), "QnnError", "window"),
        ("other_matrix", "BATCH_MATMUL", (2, 4), (5, 3), "QnnError", "have no product"),
        ("six_dimensions", "BATCH_MATMUL", (1,) * 6, (1, 1), "QnnError", "2 to 5 dimensions"),
    ):
        yield f"hybrid_{name}", _layer(code, data, weights, "int8"), error, message
        yield f"float_{name}", _layer(code, data, weights, "float32"), error, message


def _layer(code: str, data: tuple[int, ...], weights: tuple[int, ...], dtype: str) -> bytes:
    constant = fixed(np.ones(weights), dtype, Q if dtype == "int8" else None)
    return one(code, x(*data, dtype="float32"), constant).model()


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
