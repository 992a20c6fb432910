"""Hostile TFLite files with subgraphs, states and packed constants."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from frontends.tflite.quantization import Quantization
from frontends.tflite.sparsity import Level, Sparsity
from frontends.tflite.writer import ModelWriter
from tests.support.composites import runs
from tests.support.recurrent_layers import BasicLstm, layer_model
from tests.support.tflite import fixed, one, x
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
        ("two_conditions", {"flags": 2}, "QnnError", "condition"),
        ("no_condition", {"flags": 0}, "QnnError", "condition"),
        ("condition_is_a_tensor", {"flags": -1}, _UNSUPPORTED, "must give one bool"),
        ("body_gives_less", {"results": 1}, "QnnError", "gives 1 tensors"),
        ("body_gives_more", {"results": 3}, "QnnError", "gives 3 tensors"),
        ("without_an_end", {"known": True}, _UNSUPPORTED, "a loop without an end"),
        ("body_runs_the_loop", {"nested": True}, _UNSUPPORTED, "more than 8 deep"),
    ):
        yield f"loop_{name}", _loop(**changes), error, message


def _loop(flags: int = 1, results: int = 2, known: bool = False, nested: bool = False) -> bytes:
    """Return a loop over a tensor and a flag, which it turns."""
    kinds: dict[str, Any] = {"x y": ((1, 4), "int8", _Q), "on": ((1,), "bool")}
    go = {"go": kinds["on"]}
    loop = {"cond_subgraph_index": 1, "body_subgraph_index": 2}
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
            [("WHILE", "x go", "y on", loop)] if nested else turned,
            *("x go", " ".join(made)),
        ),
    )


def _choices() -> Iterator[tuple[str, bytes, str, str]]:
    """Yield a file whose branches do not go together."""
    x, branches = ((1, 4), "int8", _Q), {"then_subgraph_index": 1, "else_subgraph_index": 2}
    parts = [
        Subgraph(
            {"x": x, "y": (shape, "int8", _Q), "s": fixed(shape, "int32")},
            [("RESHAPE", "x s", "y")],
            *("x", "y"),
        )
        for shape in ((1, 4), (4,))
    ]
    main = Subgraph({"go": ((), "bool"), "x y": x}, [("IF", "go x", "y", branches)], "go x", "y")
    yield "if_branches_of_two_shapes", model_of(main, *parts), _UNSUPPORTED, "other shapes"


def _composites() -> Iterator[tuple[str, bytes, str, str]]:
    """Yield an operator that is made up of itself."""
    part = Subgraph(
        {"a b": ((1, 4), "int8", _Q)}, [("STABLEHLO_COMPOSITE", "a", "b", runs(1))], "a", "b"
    )
    yield "composite_runs_itself", model_of(part, part), _UNSUPPORTED, "more than 8 deep"


def _variables() -> Iterator[tuple[str, bytes, str, str]]:
    for name, shape, number, message in (
        ("huge", (_HUGE, _HUGE), 1, "elements"),
        ("begin_missing", (1, 4), 5, "CALL_ONCE runs subgraph 5"),
        ("begin_is_main", (1, 4), 0, "CALL_ONCE runs subgraph 0"),
    ):
        yield f"variable_{name}", _variable(shape, number), "QnnError", message
    writer = ModelWriter()
    x, y = (writer.tensor(name, (1, 4), "int8", _Q) for name in "xy")
    kept = writer.tensor("kept", (_HUGE, _HUGE), "int8", _Q, is_variable=True)
    writer.operator("ADD", [x, kept], [y])
    yield "variable_tensor_huge", writer.finish([x], [y]), "QnnError", "keeps 1099511627776"


def _variable(shape: tuple[int, ...], number: int) -> bytes:
    """Return a model whose output is the input of the run before."""
    kind, name = (shape, "int8", _Q), {"shared_name": "v"}
    first = {"h": ((1,), "resource"), "f": fixed(np.zeros((1, 4)), "int8", _Q)}
    begin = Subgraph(first, [("VAR_HANDLE", "", "h", name), ("ASSIGN_VARIABLE", "h f", "")], "", "")
    nodes = [
        ("CALL_ONCE", "", "", {"init_subgraph_index": number}),
        ("VAR_HANDLE", "", "h", name),
        ("READ_VARIABLE", "h", "y"),
        ("ASSIGN_VARIABLE", "h x", ""),
    ]
    return model_of(Subgraph({"x y": kind, "h": ((1,), "resource")}, nodes, "x", "y"), begin)


def _sparse() -> Iterator[tuple[str, bytes, str, str]]:
    """Yield weights of two values and of a large shape."""
    levels = (Level(2), Level(0, np.array([0, 1, 2]), np.array([0, 1])))
    values, sparsity = np.ones(2, np.int8), Sparsity((0, 1), (), levels)
    weights = _dense((_HUGE, _HUGE), "int8", values, sparsity)
    yield "sparse_huge", weights, _FORMAT, "stores 2 values of shape"


def _dense(
    shape: tuple[int, ...],
    dtype: str,
    weights: Any,
    sparsity: Sparsity | None = None,
    data: tuple[str, Quantization] = ("int8", _Q),
) -> bytes:
    writer = ModelWriter()
    x = writer.tensor("x", (1, 4), *data)
    w = writer.tensor("w", shape, dtype, _Q, weights, sparsity)
    y = writer.tensor("y", (1, 2), *data)
    writer.operator("FULLY_CONNECTED", [x, w], [y])
    return writer.finish([x], [y])


def _bits() -> Iterator[tuple[str, bytes, str, str]]:
    words = _dense((2, 4), "int16", np.zeros((2, 4), np.int16), data=("int16", _Q))
    yield "int16_weights", words, "QnnError", "int16"


def _read_as() -> Iterator[tuple[str, bytes, str, str]]:
    for name, shape, dtype, new, error, message in (
        ("rank_of_9", (1,) * 9, "int32", "int8", "", ""),
        ("nothing", (0, 4), "int8", "float32", "", ""),
    ):
        sheet = one("BITCAST", x(*shape, dtype=dtype, encoding=None), gives=new)
        yield f"bitcast_{name}", sheet.model(), error, message


def _lstms() -> Iterator[tuple[str, bytes, str, str]]:
    """Yield a step of LSTM of float32 whose data has one axis."""
    flat = {0: fixed(np.ones(3), "float32")}
    model = layer_model(BasicLstm(1, 3, 2, real=True), flat)
    yield "lstm_data_of_one_axis", model, "QnnError", "needs 2 dimensions"


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
