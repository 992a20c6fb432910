"""Hostile MXNet models: symbols and parameter files with one fault each."""

import json
import struct
from collections.abc import Iterator
from typing import Any

import numpy as np

from tests.frontends.mxnet.files import V2, array_list, dense, shape_bytes, sparse, symbol_json
from tests.fuzz.corpus.case import Case

WEIGHTS = np.arange(8, dtype=np.float32).reshape(2, 4)
PARAMS = array_list([dense(WEIGHTS)], ["arg:w"])
QUANTIZE: dict[str, str] = {
    "out_type": "int8",
    "min_calib_range": "-1.0",
    "max_calib_range": "1.0",
}
NODES: list[dict[str, Any]] = [
    {"op": "null", "name": "x"},
    {"op": "null", "name": "w"},
    {
        "op": "FullyConnected",
        "name": "y",
        "attrs": {"num_hidden": "2", "no_bias": "True"},
        "inputs": [[0, 0, 0], [1, 0, 0]],
    },
    {"op": "_contrib_quantize_v2", "name": "q", "attrs": QUANTIZE, "inputs": [[2, 0, 0]]},
    {
        "op": "_contrib_dequantize",
        "name": "z",
        "attrs": {"out_type": "float32"},
        "inputs": [[3, 0, 0], [3, 1, 0], [3, 2, 0]],
    },
]
SYMBOL = symbol_json(NODES)


BASE = {
    "json": symbol_json(NODES).encode(),
    "params": PARAMS,
    "shapes": json.dumps({"x": [3, 4]}).encode(),
}
"""A model without a fault; the files of a case replace some of its."""


def cases() -> Iterator[Case]:
    yield Case("mxnet_base", BASE, "", "")
    for name, text, error, message in [*_texts(), *_graphs()]:
        content = text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
        yield Case(f"mxnet_{name}", {"json": content}, error, message)
    for name, params, message in _params():
        yield Case(f"mxnet_{name}", {"params": params}, "MXNetFormatError", message)
    for name, shapes, error, message in _shapes():
        yield Case(f"mxnet_{name}", {"shapes": json.dumps(shapes).encode()}, error, message)


def _texts() -> Iterator[tuple[str, str | bytes, str, str]]:
    damaged = "MXNetFormatError"
    yield "empty", "", damaged, "is no JSON"
    yield "half", SYMBOL[: len(SYMBOL) // 2], damaged, "is no JSON"
    yield "no_text", b"\xff\xfe{}", damaged, "is not UTF-8 text"
    yield "flipped_bit", SYMBOL.replace('"nodes"', '"oodes"', 1), damaged, "nodes: is absent"
    yield "bomb_of_arrays", "[" * 20_000, damaged, "nests more than 64 deep"
    yield "bomb_of_objects", '{"nodes":' * 3000, damaged, "nests more than 64 deep"
    yield "bomb_of_digits", '{"nodes": ' + "7" * 20_000 + "}", damaged, "makes no sense"
    yield "number_too_large", '{"nodes": 1e999}', damaged, "is Infinity"
    yield "number_nan", '{"nodes": NaN}', damaged, "the number NaN makes no sense"
    yield "a_list", "[]", damaged, "is an array, needs an object"


def _graphs() -> Iterator[tuple[str, str, str, str]]:
    damaged = "MXNetFormatError"

    def changed(index: int, **fields: Any) -> str:
        nodes = [{**node, **(fields if i == index else {})} for i, node in enumerate(NODES)]
        return symbol_json(nodes)

    def ranged(**fields: str) -> str:
        return changed(3, attrs={**QUANTIZE, **fields})

    yield "no_nodes", symbol_json([], heads=[]), damaged, "nodes: is empty"
    yield "reads_itself", changed(2, inputs=[[2, 0, 0], [1, 0, 0]]), damaged, "is 2, needs 0 to 1"
    yield "reads_a_later_one", changed(2, inputs=[[0, 0, 0], [4, 0, 0]]), damaged, "is 4, needs"
    yield "missing_node", changed(4, inputs=[[99, 0, 0]] * 3), damaged, "is 99, needs 0 to 3"
    yield "negative_node", changed(2, inputs=[[-1, 0, 0], [1, 0, 0]]), damaged, "is -1, needs"
    yield "missing_result", changed(4, inputs=[[3, 7, 0]] * 3), "QnnError", "has no output 7"
    yield "too_few_operands", changed(4, inputs=[[3, 0, 0]]), "QnnError", "z"
    yield "head_missing", symbol_json(NODES, heads=[[5, 0, 0]]), damaged, "heads[0][0]: is 5"
    yield "name_is_no_text", changed(2, name="\ud800"), damaged, "is no Unicode text"
    yield "name_is_a_number", changed(2, name=7), damaged, "is 7, needs a text"
    yield "unknown_operator", changed(2, op="system"), "UnsupportedOperatorError", "system"
    negative, huge = (
        changed(2, attrs={"num_hidden": text, "no_bias": "True"}) for text in ("-5", "9" * 400)
    )
    yield "hidden_negative", negative, "QnnError", "the weight must have shape (-5, 4)"
    yield "hidden_huge", huge, "QnnError", "num_hidden must be a finite number"
    yield (
        "range_nan",
        ranged(max_calib_range="nan"),
        "QnnError",
        "must be a finite number, got 'nan'",
    )
    yield (
        "range_infinite",
        ranged(max_calib_range="inf"),
        "QnnError",
        "must be a finite number, got 'inf'",
    )
    tiny = ranged(min_calib_range="-1e-45", max_calib_range="1e-45")
    yield "range_denormal", tiny, "QnnError", "scale must be positive and finite, got 0.0"
    none = ranged(min_calib_range="0", max_calib_range="0")
    yield "range_zero", none, "QnnError", "scale must be positive and finite, got 0.0"
    yield "range_backwards", ranged(min_calib_range="2", max_calib_range="-2"), "", ""
    code = ranged(max_calib_range="__import__('os')")
    yield "range_no_number", code, "QnnError", "must be a number, got"
    yield "dtype_unknown", ranged(out_type="int9"), "QnnError", "must be one of auto, int8, uint8"


def _params() -> Iterator[tuple[str, bytes, str]]:
    def shaped(*shape: int) -> bytes:
        return PARAMS.replace(shape_bytes((2, 4)), shape_bytes(shape))

    yield "params_empty", b"", "the file ends after 0"
    yield "params_half", PARAMS[: len(PARAMS) // 2], "but the file ends"
    yield "params_other_magic", b"\x13" + PARAMS[1:], "begins with 0x113"
    counted = struct.pack("<QQQ", 0x112, 0, 2**63) + PARAMS[24:]
    yield "params_huge_count", counted, "more than fit into"
    yield "params_negative_shape", shaped(-2, -4), "of shape (-2, -4)"
    yield "params_overflowing_shape", shaped(2**62, 4), "which no array has"
    yield "params_huge_shape", shaped(2**31 - 1, 2**31 - 1), "which no array has"
    yield "params_unknown_dtype", array_list([dense(WEIGHTS, V2, 77)], ["arg:w"]), "77"
    yield "params_name_is_no_text", PARAMS[:-1] + b"\xff", "is not UTF-8 text"
    yield "params_twice", array_list([dense(WEIGHTS)] * 2, ["arg:w"] * 2), "the same name"
    wide = np.zeros((0, 2**20), np.float32)
    bomb = sparse((2**20, 2**20), wide, np.zeros(0, np.int64))
    yield "params_sparse_bomb", array_list([bomb], ["arg:w"]), "unpacks to"


def _shapes() -> Iterator[tuple[str, Any, str, str]]:
    yield "shape_negative", {"x": [3, -4]}, "QnnError", "-4"
    yield "shape_huge", {"x": [2**40, 2**40]}, "QnnError", "the weight must have shape"
    yield "shape_of_other_weights", {"x": [3, 5]}, "QnnError", "5"
    yield "shape_of_unknown", {"other": [3, 4]}, "QnnError", "other"
