"""ONNX models to damage, and well-formed files of models that are partly invalid."""

from functools import cache
from typing import Any

import numpy as np
import onnx
import tvm.relax.frontend.onnx  # noqa: F401 (its import takes long, and is no part of a model's)

from tests.differential.onnx.graphs import FORMS, Graph
from tests.differential.onnx.growth import grow
from tests.fuzz.mutations import ODD_SCALES, Rng, damaged

_WHOLE = (
    *(0, 1, 2, 3, 5, 7, 13, 16, 17, -1, -2, -3, 255, 1 << 16, 1 << 20, 1 << 31),
    *((1 << 31) - 1, -(1 << 31), 1 << 40, 1 << 60, (1 << 63) - 1, -(1 << 63)),
)
_OPERATORS = (
    *("ConstantOfShape", "Expand", "If", "Loop", "Scan", "Tile", "Pad", "Resize", "Range", "Where"),
    *("OneHot", "NonZero", "Shape", "Size", "Cast", "Gather", "Slice", "Split", "SequenceEmpty"),
    *("Einsum", "Reshape", "Squeeze", "Conv", "MaxPool", "Gemm", "QuantizeLinear", "Softmax"),
    *("QLinearConv", "QGemm", "QLinearAdd", "QLinearConcat", "Clip", "Constant", "Identity"),
    *("DynamicQuantizeLinear", "MatMulInteger", "ConvInteger", "BatchNormalization", "LSTM"),
    *("Col2Im", "Compress", "DFT", "DeformConv", "Det", "EyeLike", "LpPool", "NonMaxSuppression"),
    *("ReverseSequence", "RoiAlign", "STFT", "Unique"),
)
_GRAPHS = 60


def draw(rng: Rng) -> bytes:
    """Return a damaged model."""
    seeds = _seeds()
    content = seeds[int(rng.integers(len(seeds)))]
    if rng.random() < 0.3:
        return damaged(rng, content)
    model = onnx.ModelProto.FromString(content)
    for _ in range(int(rng.integers(1, 5))):
        _change(rng, model)
    if rng.random() < 0.1:
        _nest(rng, model)
    return bytes(model.SerializeToString())


@cache
def _seeds() -> tuple[bytes, ...]:
    """Return random graphs of both forms, and models with subgraphs and functions."""
    found = []
    for seed in range(_GRAPHS):
        graph = Graph(np.random.default_rng(seed), FORMS[seed % len(FORMS)])
        grow(graph)
        found.append(graph.finish().SerializeToString())
    return (*found, _with_branches(), _with_function())


def _ends(names: str) -> list[Any]:
    return [onnx.helper.make_tensor_value_info(name, 1, [1, 4]) for name in names]


def _with_branches() -> bytes:
    """Return a model of an If."""
    helper = onnx.helper
    branches = {
        f"{name}_branch": helper.make_graph(
            [helper.make_node(op, ["x"], [name])], name, [], _ends("")
        )
        for name, op in (("then", "Relu"), ("else", "Identity"))
    }
    for name, graph in branches.items():
        result = helper.make_tensor_value_info(name.removesuffix("_branch"), 1, [1, 4])
        graph.output.append(result)
    flag = onnx.numpy_helper.from_array(np.array(True), "flag")
    node = helper.make_node("If", ["flag"], ["y"], **branches)
    graph = helper.make_graph([node], "branches", _ends("x"), _ends("y"), [flag])
    return _written(graph)


def _with_function() -> bytes:
    """Return a model whose one operator is a function of its own."""
    helper = onnx.helper
    opsets = [helper.make_opsetid("", 17)]
    body = [helper.make_node("Relu", ["a"], ["b"])]
    function = helper.make_function("own", "Twice", ["a"], ["b"], body, opsets)
    node = helper.make_node("Twice", ["x"], ["y"], domain="own")
    return _written(helper.make_graph([node], "called", _ends("x"), _ends("y")), [function])


def _written(graph: Any, functions: Any = ()) -> bytes:
    helper = onnx.helper
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8, functions=[*functions])
    return bytes(model.SerializeToString())


def _pick(rng: Rng, values: Any) -> Any:
    return values[int(rng.integers(len(values)))]


def _change(rng: Rng, model: Any) -> None:
    """Change one field anywhere in a model: drop it, double it, or give it another value."""
    message = _pick(rng, _messages(model))
    fields = [field for field, _ in message.ListFields()] or [*message.DESCRIPTOR.fields]
    field = _pick(rng, fields if rng.random() < 0.9 else [*message.DESCRIPTOR.fields])
    if rng.random() < 0.1:
        message.ClearField(field.name)
    elif field.is_repeated:
        _change_list(rng, model, getattr(message, field.name), field)
    elif field.message_type is not None:
        others = [each for each in _messages(model) if each.DESCRIPTOR is field.message_type]
        if others and (other := _pick(rng, others)) is not message and other.ByteSize() < 1 << 16:
            copied = type(other).FromString(other.SerializeToString())
            getattr(message, field.name).CopyFrom(copied)
    else:
        value = _value(rng, model, field, getattr(message, field.name))
        if value is not None:
            setattr(message, field.name, value)


def _change_list(rng: Rng, model: Any, values: Any, field: Any) -> None:
    kind, place = rng.random(), int(rng.integers(max(len(values), 1)))
    if len(values) and kind < 0.2:
        del values[place]
    elif field.message_type is not None:
        if len(values) and kind < 0.5:  # doubled, or later than its reader
            values.add().CopyFrom(values[place])
        elif kind < 0.6:
            values.add()
        return
    elif len(values) and kind < 0.8:
        value = _value(rng, model, field, values[place])
        if value is not None:
            values[place] = value
    else:
        value = _value(rng, model, field, None)
        if value is not None:
            values.append(value)


def _value(rng: Rng, model: Any, field: Any, old: Any) -> Any:
    """Return another value of a field's type."""
    if field.cpp_type in (field.CPPTYPE_FLOAT, field.CPPTYPE_DOUBLE):
        return float(_pick(rng, ODD_SCALES))
    if field.cpp_type == field.CPPTYPE_ENUM:
        return int(_pick(rng, field.enum_type.values).number)
    if field.cpp_type == field.CPPTYPE_STRING and field.type == field.TYPE_BYTES:
        return damaged(rng, old or b"\0" * 8)
    if field.cpp_type == field.CPPTYPE_STRING:
        if field.name == "op_type":
            return str(_pick(rng, _OPERATORS))
        names = [name for node in model.graph.node for name in (*node.input, *node.output)]
        return str(_pick(rng, (*names, "", "x" * 300)))
    value = int(_pick(rng, _WHOLE))
    unsigned = field.cpp_type in (field.CPPTYPE_UINT32, field.CPPTYPE_UINT64)
    is_short = field.cpp_type in (field.CPPTYPE_INT32, field.CPPTYPE_UINT32)
    value = value % (1 << 64) if unsigned else value
    return value if not is_short or abs(value) < 1 << 31 else None


def _messages(model: Any) -> list[Any]:
    found, pending = [], [model]
    while pending:
        message = pending.pop()
        found.append(message)
        for field, value in message.ListFields():
            if field.message_type is not None:
                pending += value if field.is_repeated else [value]
    return found


def _nest(rng: Rng, model: Any) -> None:
    """Put the graph into branches of branches, or let functions call each other."""
    helper = onnx.helper
    if rng.random() < 0.5:
        graph = model.graph
        for depth in range(int(_pick(rng, (1, 5, 40)))):
            output = [onnx.helper.make_tensor_value_info(f"n{depth}", 1, None)]
            node = helper.make_node(
                "If", ["c"], [f"n{depth}"], then_branch=graph, else_branch=graph
            )
            if node.ByteSize() > 1 << 19:
                break
            graph = helper.make_graph([node], f"g{depth}", [], output)
        model.graph.CopyFrom(graph)
        return
    count = int(_pick(rng, (1, 2, 30)))
    for number in range(count):  # in a circle, or each one twice by the one before
        following = f"f{(number + 1) % count if rng.random() < 0.5 else number + 1}"
        body = [
            helper.make_node(following, ["a"], ["b"], domain="own"),
            helper.make_node(following, ["b"], ["c"], domain="own"),
        ]
        opsets = [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]
        model.functions.append(
            helper.make_function("own", f"f{number}", ["a"], ["c"], body, opsets)
        )
    model.opset_import.append(helper.make_opsetid("own", 1))
    name = model.graph.input[0].name if len(model.graph.input) else ""
    model.graph.node.append(helper.make_node("f0", [name], ["called"], domain="own"))
