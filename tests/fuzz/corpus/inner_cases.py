"""Hostile TFLite files with subgraphs, states and packed constants."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from frontends.tflite.quantization import Quantization
from frontends.tflite.sparsity import Level, Sparsity
from frontends.tflite.writer import ModelWriter
from tests.support.composites import runs
from tests.support.recurrent_layers import BasicLstm, layer_model
from tests.support.tflite import Operand, fixed, one, state, x
from tests.support.tflite_graphs import Subgraph, model_of

_Q = Quantization.per_tensor(0.5, 0)
_UNSUPPORTED, _FORMAT = "UnsupportedOperatorError", "ModelFormatError"
_HUGE = 1 << 20


def cases() -> Iterator[tuple[str, bytes, str, str]]:
    """Yield names, contents, and the error that each must get."""
    yield from _loops()
    yield from _choices()
    yield from _composites()
    yield from _variables()
    yield from _sparse()
    yield from _bits()
    yield from _read_as()
    yield from _lstms()
    yield from _floats()
    yield from _long()


def _loops() -> Iterator[tuple[str, bytes, str, str]]:
    for name, changes, error, message in (
        ("condition_missing", {"cond": 7}, _UNSUPPORTED, "runs subgraph 7, there are 2 others"),
        ("body_missing", {"body": -1}, _UNSUPPORTED, "runs subgraph -1"),
        ("body_is_main", {"body": 0}, _UNSUPPORTED, "runs subgraph 0"),
        ("two_conditions", {"flags": 2}, "QnnError", "condition"),
        ("no_condition", {"flags": 0}, "QnnError", "condition"),
        ("condition_is_a_tensor", {"flags": -1}, _UNSUPPORTED, "must give one bool"),
        ("body_gives_less", {"results": 1}, "QnnError", "gives 1 tensors"),
        ("body_gives_more", {"results": 3}, "QnnError", "gives 3 tensors"),
        ("without_an_end", {"known": True}, _UNSUPPORTED, "a loop without an end"),
        ("body_runs_the_loop", {"nested": True}, _UNSUPPORTED, "more than 8 deep"),
    ):
        yield f"loop_{name}", _loop(**changes), error, message


def _loop(
    cond: int = 1,
    body: int = 2,
    flags: int = 1,
    results: int = 2,
    known: bool = False,
    nested: bool = False,
) -> bytes:
    """Return a loop over a tensor and a flag, which it turns."""
    kinds: dict[str, Any] = {"x y": ((1, 4), "int8", _Q), "on": ((1,), "bool")}
    go = {"go": kinds["on"]}
    loop = {"cond_subgraph_index": cond, "body_subgraph_index": body}
    again = {"cond_subgraph_index": 1, "body_subgraph_index": 2}
    turned = [("RELU", "x", "y"), ("LOGICAL_NOT", "go", "on")]
    made = ["y", "go" if known and not nested else "on", "y"][:results]
    return model_of(
        Subgraph(
            {**kinds, "go": fixed([True], "bool")} if known else {**kinds, **go},
            [("WHILE", "x go", "y on", loop)],
            *("x" if known else "x go", "y"),
        ),
        Subgraph({**kinds, **go}, [], "x go", " ".join(["go"] * flags) if flags >= 0 else "x"),
        Subgraph(
            {**kinds, **go},
            [("WHILE", "x go", "y on", again)] if nested else turned,
            *("x go", " ".join(made)),
        ),
    )


def _choices() -> Iterator[tuple[str, bytes, str, str]]:
    """Yield files whose branches do not go together."""
    for name, shapes, flag, number, error, message in (
        ("branch_missing", [(1, 4)] * 2, (), 3, _UNSUPPORTED, "runs subgraph 3"),
        ("branches_of_two_shapes", [(1, 4), (4,)], (), 2, _UNSUPPORTED, "other shapes"),
        ("several_flags", [(1, 4)] * 2, (3,), 2, "QnnError", "must be one bool"),
    ):
        x = ((1, 4), "int8", _Q)
        branches = {"then_subgraph_index": 1, "else_subgraph_index": number}
        parts = [
            Subgraph(
                {"x": x, "y": (shape, "int8", _Q), "s": fixed(shape, "int32")},
                [("RESHAPE", "x s", "y")],
                *("x", "y"),
            )
            for shape in shapes
        ]
        nodes = [("IF", "go x", "y", branches)]
        main = Subgraph({"go": (flag, "bool"), "x y": x}, nodes, "go x", "y")
        yield f"if_{name}", model_of(main, *parts), error, message


def _composites() -> Iterator[tuple[str, bytes, str, str]]:
    """Yield operators that several others make up, which do not fit them, or are none."""
    for name, changes, error, message in (
        ("missing", {"number": 7}, _UNSUPPORTED, "runs subgraph 7"),
        ("negative", {"number": -1}, _UNSUPPORTED, "runs subgraph -1"),
        ("is_main", {"number": 0}, _UNSUPPORTED, "runs subgraph 0"),
        ("runs_itself", {"inner": 1}, _UNSUPPORTED, "more than 8 deep"),
        ("takes_more", {"takes": 2}, "QnnError", "takes 2"),
        ("takes_less", {"takes": 0}, _FORMAT, "before it has a value"),
        ("gives_more", {"gives": 2}, "QnnError", "gives 2"),
        ("gives_less", {"gives": 0}, "QnnError", "gives 0"),
        ("gives_a_missing_tensor", {"ends": 99}, _FORMAT, "99"),
    ):
        yield f"composite_{name}", _composite(**changes), error, message


def _composite(
    number: int = 1,
    inner: int = 0,
    takes: int = 1,
    gives: int = 1,
    ends: int = 0,
) -> bytes:
    """Return a composite that runs a subgraph of one operator, or of another composite."""
    writer = ModelWriter()
    x, y = (writer.tensor(name, (1, 4), "int8", _Q) for name in "xy")
    writer.operator("STABLEHLO_COMPOSITE", [x], [y], **runs(number))
    graph = writer.subgraph()
    a, b, c = (graph.tensor(name, (1, 4), "int8", _Q) for name in "abc")
    if inner:
        graph.operator("STABLEHLO_COMPOSITE", [a], [b], **runs(inner))
    else:
        graph.operator("RELU", [a], [b])
    graph.end([a, c][:takes], [b, a][:gives])
    if ends:
        graph._ends = ([a], [ends])  # the writer gives no tensor that is missing
    return writer.finish([x], [y])


def _variables() -> Iterator[tuple[str, bytes, str, str]]:
    for name, changes, error, message in (
        ("of_two_shapes", {"read": (2, 2)}, "QnnError", "and int8 of shape (1, 4)"),
        ("huge", {"read": (_HUGE, _HUGE), "given": (_HUGE, _HUGE)}, "QnnError", "elements"),
        ("without_a_handle", {"handle": False}, "QnnError", "of type resource"),
        (
            "begins_of_other_shape",
            {"first": (3,)},
            "QnnError",
            "its first value int8 of shape (3,)",
        ),
        ("begin_missing", {"number": 5}, "QnnError", "CALL_ONCE runs subgraph 5"),
        ("begin_is_main", {"number": 0}, "QnnError", "CALL_ONCE runs subgraph 0"),
        ("begin_of_data", {"first": None}, _UNSUPPORTED, "which is no constant"),
    ):
        yield f"variable_{name}", _variable(**changes), error, message
    writer = ModelWriter()
    x, y = (writer.tensor(name, (1, 4), "int8", _Q) for name in "xy")
    kept = writer.tensor("kept", (_HUGE, _HUGE), "int8", _Q, is_variable=True)
    writer.operator("ADD", [x, kept], [y])
    yield "variable_tensor_huge", writer.finish([x], [y]), "QnnError", "keeps 1099511627776"


def _variable(
    read: tuple[int, ...] = (1, 4),
    given: tuple[int, ...] = (1, 4),
    handle: bool = True,
    first: tuple[int, ...] | None = (1, 4),
    number: int = 1,
) -> bytes:
    """Return a model whose output is the input of the run before."""
    writer = ModelWriter()
    begin = writer.subgraph()
    place = begin.tensor("h", (1,), "resource")
    begin.operator("VAR_HANDLE", [], [place], shared_name="v")
    array = None if first is None else np.zeros(first, np.int8)
    value = begin.tensor("f", first or (1, 4), "int8", _Q, array)
    begin.operator("ASSIGN_VARIABLE", [place, value], [])
    begin.end([] if first else [value], [])
    writer.operator("CALL_ONCE", [], [], init_subgraph_index=number)
    data, made = writer.tensor("x", given, "int8", _Q), writer.tensor("y", read, "int8", _Q)
    place = writer.tensor("h", (1,), "resource")
    if handle:
        writer.operator("VAR_HANDLE", [], [place], shared_name="v")
    writer.operator("READ_VARIABLE", [place], [made])
    writer.operator("ASSIGN_VARIABLE", [place, data], [])
    return writer.finish([data] if handle else [data, place], [made])


def _sparse() -> Iterator[tuple[str, bytes, str, str]]:
    """Yield weights of two values, whose order makes no sense."""
    ends, places = np.array([0, 1, 2]), np.array([0, 1])
    good = (Level(2), Level(0, ends, places))
    for name, shape, order, blocks, levels, message in (
        ("huge", (_HUGE, _HUGE), (0, 1), (), good, "stores 2 values of shape"),
        ("dense_level_huge", (2, 4), (0, 1), (), (Level(2**31 - 1), good[1]), "dense level"),
        ("dense_level_negative", (2, 4), (0, 1), (), (Level(-1), good[1]), "dense level"),
        ("axis_twice", (2, 4), (0, 0), (), good, "do not fit shape"),
        ("axis_missing", (2, 4), (0, 9), (), good, "do not fit shape"),
        ("level_missing", (2, 4), (0, 1), (), good[:1], "do not fit shape"),
        ("block_of_no_axis", (2, 4), (0, 1, 2), (7,), (*good, Level(1)), "blocks of axis 7"),
        ("block_of_0", (2, 4), (0, 1, 2), (1,), (*good, Level(0)), "stores 2 sparse values"),
        ("block_huge", (2, 4), (0, 1, 2), (1,), (*good, Level(2**31 - 1)), "dense level"),
        ("segments_backwards", (2, 4), (0, 1), (), (Level(2), Level(0, ends[::-1], places)), "fit"),
        ("place_negative", (2, 4), (0, 1), (), (Level(2), Level(0, ends, -places)), "outside axis"),
        ("place_far", (2, 4), (0, 1), (), (Level(2), Level(0, ends, 2**30 * places)), "outside"),
    ):
        values, sparsity = np.ones(2, np.int8), Sparsity(order, blocks, levels)
        yield f"sparse_{name}", _dense(shape, "int8", values, sparsity), _FORMAT, message


def _dense(
    shape: tuple[int, ...],
    dtype: str,
    weights: Any,
    sparsity: Sparsity | None = None,
    data: tuple[str, Quantization] = ("int8", _Q),
    encoding: Quantization = _Q,
) -> bytes:
    writer = ModelWriter()
    x = writer.tensor("x", (1, 4), *data)
    w = writer.tensor("w", shape, dtype, encoding, weights, sparsity)
    y = writer.tensor("y", (1, 2), *data)
    writer.operator("FULLY_CONNECTED", [x, w], [y])
    return writer.finish([x], [y])


def _bits() -> Iterator[tuple[str, bytes, str, str]]:
    """Yield constants of four bits, and layers of int16, that do not go together."""
    small = np.arange(-8, 0, dtype=np.int8).reshape(2, 4)
    good = _dense((2, 4), "int4", small)
    packed = bytes([0x98, 0xBA, 0xDC, 0xFE])
    assert good.count(packed) == 1
    size = good.index(packed) - 4
    for name, count in (("too_few", 3), ("none", 0)):
        content = good[:size] + count.to_bytes(4, "little") + good[size + 4 :]
        yield f"int4_{name}", content, *_OF_COUNT[name]
    wide = Quantization.per_tensor(0.5, 8)
    yield "int4_zero_point", _dense((2, 4), "int4", small, encoding=wide), _FORMAT, "needs -8 to 7"
    odd = ("int16", Quantization.per_tensor(0.5, 1))
    whole = _dense((2, 4), "int8", small, data=odd)
    yield "int16_zero_point", whole, "QnnError", "must be 0 for int16"
    words = _dense((2, 4), "int16", small.astype(np.int16), data=("int16", _Q))
    yield "int16_weights", words, "QnnError", "int16"


_OF_COUNT = {
    "too_few": (_FORMAT, "buffer holds 3 bytes"),
    "none": (_FORMAT, "before it has a value"),
}


def _ones(*shape: int) -> Operand:
    return fixed(np.ones(shape), "float32")


def _read_as() -> Iterator[tuple[str, bytes, str, str]]:
    for name, shape, dtype, new, error, message in (
        ("other_parts", (2, 3), "int8", "int32", "QnnError", "needs 4 at its end"),
        ("no_parts", (), "int8", "int16", "QnnError", "needs 2 at its end"),
        ("flags", (4,), "bool", "int8", _UNSUPPORTED, "from bool to int8"),
        ("rank_of_9", (1,) * 9, "int32", "int8", "", ""),
        ("nothing", (0, 4), "int8", "float32", "", ""),
    ):
        sheet = one("BITCAST", x(*shape, dtype=dtype, encoding=None), gives=new)
        yield f"bitcast_{name}", sheet.model(), error, message


def _lstms() -> Iterator[tuple[str, bytes, str, str]]:
    """Yield steps of LSTM of float32 whose tensors do not go together."""
    lstm = BasicLstm(1, 3, 2, real=True)
    rows: dict[str, tuple[BasicLstm, dict[int, Operand], str]] = {
        "no_cells": (replace(lstm, units=0), {}, "needs 4 numbers for each unit"),
        "weights_of_others": (lstm, {2: _ones(8, 6)}, "shape (8, 6), needs (8, 5)"),
        "bias_of_others": (lstm, {3: _ones(7)}, "shape (1, 2), needs (1, 1)"),
        "state_of_others": (lstm, {1: state(1, 9)}, "shape (1, 9), needs (1, 2)"),
        "data_of_one_axis": (lstm, {0: _ones(3)}, "needs 2 dimensions"),
    }
    for name, (layer, changes, message) in rows.items():
        yield f"lstm_{name}", layer_model(layer, changes), "QnnError", message
    yield "lstm_operands_missing", layer_model(lstm, inputs=3), "QnnError", "needs 5 inputs"


def _floats() -> Iterator[tuple[str, bytes, str, str]]:
    """Yield operators on float32 whose sizes are out of all proportion."""
    image, number = (x(*shape, dtype="float32") for shape in ((1, 2, 2, 1), ()))
    nearest, neighbours = "RESIZE_NEAREST_NEIGHBOR", "LOCAL_RESPONSE_NORMALIZATION"
    for name, sheet, message in (
        ("resize", one("RESIZE_BILINEAR", image, (1 << 30, 2)), "0 to 16777216 each way"),
        ("nearest", one(nearest, image, (2, -5)), "0 to 16777216 each way"),
        ("neighbours", one(neighbours, number, radius=1), "is a scalar"),
    ):
        sheet.add("RELU", x(1))
        yield f"float_{name}", sheet.model(), "QnnError", message


def _long() -> Iterator[tuple[str, bytes, str, str]]:
    """Yield operators on an axis of a billion elements."""
    for name, code, widths, rank, message in (
        ("mirror", "MIRROR_PAD", np.ones((1, 2), np.int32), 1, "is longer than 16777216"),
        ("diagonal", "MATRIX_DIAG", None, 2, "1073741824 columns is too large"),
    ):
        writer = ModelWriter()
        data = writer.tensor("x", (1 << 30,), "int8", _Q)
        operands = [data]
        if widths is not None:
            operands.append(writer.tensor("n", widths.shape, "int32", None, widths))
        result = writer.tensor("y", (1 << 30,) * rank, "int8", _Q)
        writer.operator(code, operands, [result])
        yield f"long_{name}", writer.finish([data], [result]), "QnnError", message
