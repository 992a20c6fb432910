"""Hostile ONNX files; each is small and has one fault, which its error names."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import onnx

from tests.fuzz.corpus.case import Case
from tests.support.onnx_graphs import Node, node_of

helper, TensorProto = onnx.helper, onnx.TensorProto

_FORMAT, _UNSUPPORTED = "ModelFormatError", "UnsupportedOperatorError"
_HUGE = 1 << 60


def cases() -> Iterator[Case]:
    for name, content, error, message in [*_bytes(), *_changes(), *_operators(), *_nested()]:
        yield Case(f"onnx_{name}", {"onnx": content}, error, message)


def model(
    weights: Any = None, nodes: Any = None, opset: int = 17, functions: Any = (), **constants: Any
) -> Any:
    """Return a convolution between DequantizeLinear and QuantizeLinear.

    Args:
        weights: of the convolution, as a TensorProto.
        nodes: instead of the convolution's.
        opset: the version of operators.
        functions: of the model.
        constants: by name, instead of the scales and zero points there are.
    """
    arrays = {
        "sx": np.float32(0.5),
        "zx": np.uint8(3),
        "sw": np.float32(0.25),
        "zw": np.int8(0),
        "sy": np.float32(4),
        "zy": np.uint8(0),
        "w": np.arange(-4, 4, dtype=np.int8).reshape(4, 2, 1, 1),
        **constants,
    }
    tensors = [onnx.numpy_helper.from_array(np.asarray(a), name) for name, a in arrays.items()]
    if weights is not None:
        tensors[-1] = weights
    sizes: dict[str, Any] = {"x": [1, 2, 3, 3], "y": [None] * 4}
    values = [helper.make_tensor_value_info(n, TensorProto.UINT8, sizes[n]) for n in "xy"]
    graph = helper.make_graph(_nodes() if nodes is None else nodes, "g", values[:1], values[1:])
    graph.initializer.extend(tensors)
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid("own", 1)]
    opsets.append(helper.make_opsetid("com.microsoft", 1))
    return helper.make_model(graph, opset_imports=opsets, ir_version=8, functions=[*functions])


def _nodes(*between: Node) -> list[Any]:
    """Return the nodes of the model; ``between`` follow the convolution, from c to d."""
    nodes = [
        *(("DequantizeLinear", "x sx zx", "a"), ("DequantizeLinear", "w sw zw", "b")),
        ("Conv", "a b", "c", {"kernel_shape": [1, 1]}),
        *between,
        ("QuantizeLinear", f"{'d' if between else 'c'} sy zy", "y"),
    ]
    return [node_of(*each) for each in nodes]


def _changed(change: Callable[[Any], object]) -> bytes:
    made = model()
    change(made)
    return bytes(made.SerializeToString())


def _bytes() -> Iterator[tuple[str, bytes, str, str]]:
    content = model().SerializeToString()
    yield "base", content, "", ""
    yield "empty", b"", _FORMAT, "it has no graph"
    yield "groups_without_end", b"\x08\x08" + b"\x0b" * 50_000, _FORMAT, "malformed"
    yield "length_of_terabytes", b"\x08\x08\x3a" + b"\xff" * 9 + b"\x01", _FORMAT, "malformed"


def _changes() -> Iterator[tuple[str, bytes, str, str]]:
    def node(made: Any, number: int) -> Any:
        return made.graph.node[number]

    def constant(made: Any, name: str) -> Any:
        return next(each for each in made.graph.initializer if each.name == name)

    def missing(made: Any) -> None:
        del made.graph.initializer[0]

    def twice(made: Any) -> None:
        made.graph.initializer.append(constant(made, "w"))

    def made_twice(made: Any) -> None:
        node(made, 2).output[0] = "a"

    def dims(*sizes: int) -> Callable[[Any], None]:
        def change(made: Any) -> None:
            constant(made, "w").dims[:] = sizes

        return change

    def shape(*sizes: int) -> Callable[[Any], None]:
        def change(made: Any) -> None:
            del made.graph.input[0].type.tensor_type.shape.dim[:]
            for size in sizes:
                made.graph.input[0].type.tensor_type.shape.dim.add().dim_value = size

        return change

    def external(location: str, **more: str) -> Callable[[Any], None]:
        def change(made: Any) -> None:
            tensor = constant(made, "w")
            tensor.ClearField("raw_data")
            tensor.data_location = TensorProto.EXTERNAL
            for key, value in {"location": location, **more}.items():
                entry = tensor.external_data.add()
                entry.key, entry.value = key, value

        return change

    def unknown(made: Any) -> None:
        made.graph.input[0].type.tensor_type.elem_type = 255

    def sequence(made: Any) -> None:
        made.graph.input[0].type.sequence_type.elem_type.tensor_type.elem_type = 2

    def sparse(made: Any) -> None:
        one = made.graph.sparse_initializer.add()
        one.values.CopyFrom(constant(made, "w"))
        one.values.name = "s"
        one.dims[:] = [_HUGE, _HUGE]

    for name, change, error, message in (
        ("constant_missing", missing, _FORMAT, "malformed"),
        ("constant_twice", twice, "", ""),
        ("tensor_made_twice", made_twice, _FORMAT, "malformed"),
        ("constant_huge", dims(_HUGE, 2, 1, 1), _FORMAT, "w"),
        ("constant_overflows", dims(1 << 32, 1 << 32, 1, 1), _FORMAT, "w"),
        ("input_huge", shape(_HUGE, 2, 3, 3), "QnnError", "'x': a tensor has"),
        ("input_of_unknown_type", unknown, _FORMAT, "the dtype 255 of 'x' is unknown"),
        ("input_is_a_sequence", sequence, "QnnError", "must be a tensor"),
        ("external_outside", external("../../../../../../etc/passwd"), _FORMAT, "external data"),
        ("external_absolute", external("/etc/passwd"), _FORMAT, "external data"),
        ("external_device", external("/dev/zero"), _FORMAT, "external data"),
        ("external_missing", external("nowhere.bin"), _FORMAT, "external data"),
        ("external_itself", external("onnx_base.onnx", length=str(_HUGE)), _FORMAT, "data"),
        ("external_offset", external("onnx_base.onnx", offset="-1"), _FORMAT, "external data"),
        ("sparse_huge", sparse, _FORMAT, ""),
    ):
        yield name, _changed(change), error, message
    for name, constants, error, message in (
        ("scale_infinite", {"sy": np.float32(np.inf)}, _UNSUPPORTED, "got inf"),
        ("scale_of_integers", {"sx": np.int32(1)}, _UNSUPPORTED, "scales must be float32"),
        ("zero_point_of_floats", {"zy": np.float32(3)}, _FORMAT, ""),
    ):
        yield name, model(**constants).SerializeToString(), error, message


def _operators() -> Iterator[tuple[str, bytes, str, str]]:
    """Yield models that make something huge of something small."""

    def constant(*sizes: int) -> Node:
        return ("Constant", "", "k", {"value": onnx.numpy_helper.from_array(np.array(sizes), "")})

    huge, gigabytes, fill = constant(_HUGE), constant(1 << 29), ("ConstantOfShape", "k", "e")
    many = TensorProto(data_type=TensorProto.FLOAT, dims=[1 << 40])
    concats = [(f"k{i}" if i else "k", f"k{i + 1}") for i in range(40)]
    doubled = [("Concat", f"{given} {given}", made, {"axis": 0}) for given, made in concats]
    turned = _last("Transpose", "c", perm=[0, 9, 1, 1])
    joined, softmax = _last("Concat", "c c", axis=1 << 40), _last("Softmax", "c", axis=-(1 << 40))
    rows: tuple[tuple[str, list[Node], str, str], ...] = (
        ("constant_node_huge", [("Constant", "", "k", {"value": many})], _FORMAT, "malformed"),
        ("constant_node_empty", [("Constant", "", "k")], _FORMAT, "shapes do not fit"),
        ("fill_huge", [huge, fill], _UNSUPPORTED, "the most are"),
        ("fill_large", [constant(1 << 20, 1 << 20), fill], _UNSUPPORTED, "the most are"),
        ("fill_gigabytes", [gigabytes, fill], _UNSUPPORTED, "results of constants alone"),
        ("concat_doubled", [gigabytes, *doubled], _UNSUPPORTED, "results of constants alone"),
        ("expand_huge", [huge, ("Expand", "c k", "e")], _FORMAT, "shapes do not fit"),
        ("reshape_huge", [huge, ("Reshape", "c k", "e")], _UNSUPPORTED, "Reshape"),
        ("unsqueeze_huge", [huge, ("Unsqueeze", "c k", "e")], _FORMAT, "shapes do not fit"),
        ("transpose_wild", [turned], _FORMAT, "shapes do not fit"),
        ("concat_axis", [joined], _UNSUPPORTED, "axis is 1099511627776"),
        ("softmax_axis", [softmax], _UNSUPPORTED, "axis is -1099511627776"),
    )
    for name, between, error, message in rows:
        end = [] if between[-1][2] == "d" else [_last("Identity", "c")]
        content = model(nodes=_nodes(*between, *end)).SerializeToString()
        yield name, content, error, message
    wide = {"kernel_shape": [1 << 31] * 2}
    for name, attributes, error, message in (
        ("conv_groups", {"group": 1 << 60}, _UNSUPPORTED, "group is 1152"),
        ("conv_stride_0", {"strides": [0, 0]}, _FORMAT, "shapes do not fit"),
        ("conv_pads_huge", {"pads": [1 << 60] * 4}, _UNSUPPORTED, "elements, the most are"),
        ("conv_pads_negative", {"pads": [-9] * 4}, _FORMAT, "shapes do not fit"),
        ("conv_window_huge", wide, _UNSUPPORTED, "elements, the most are"),
        ("conv_dilation_huge", {"dilations": [1 << 62] * 2}, _UNSUPPORTED, "dilations is 4611"),
        ("conv_auto_pad_unknown", {"auto_pad": "SIDEWAYS"}, _UNSUPPORTED, "SIDEWAYS"),
    ):
        nodes = _nodes()
        nodes[2] = node_of("Conv", "a b", "c", attributes)
        yield name, model(nodes=nodes).SerializeToString(), error, message
    for name, inputs, error, message in (
        ("qlinear_too_few", "x sx zx w sw zw", _FORMAT, "malformed"),
        ("qlinear_bias_missing", "x sx zx w sw zw sy zy nothing", _FORMAT, "malformed"),
        ("qlinear_scale_is_data", "x x zx w sw zw sy zy", _UNSUPPORTED, "scales must be float32"),
    ):
        node = node_of("QLinearConv", inputs, "y", {"kernel_shape": [1, 1]})
        yield name, model(nodes=[node]).SerializeToString(), error, message


def _last(op: str, operands: str, **attributes: Any) -> Node:
    """Return a node whose result is d."""
    return (op, operands, "d", attributes)


def _nested() -> Iterator[tuple[str, bytes, str, str]]:
    """Yield subgraphs in subgraphs, and functions that call themselves or each other."""
    for depth in (2, 20, 1000):
        graph = _field(1, _field(4, b"Relu")) + _field(2, b"g")
        for _ in range(depth):
            branch = _field(5, _field(1, b"then_branch") + b"\xa0\x01\x05" + _field(6, graph))
            graph = _field(
                1, _field(1, b"k") + _field(2, b"r") + _field(4, b"If") + branch
            ) + _field(2, b"g")
        content = b"\x08\x08" + _field(7, graph) + _field(8, b"\x10\x11")
        yield f"branches_{depth}_deep", content, _FORMAT, "malformed"
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]

    def function(name: str, *calls: str) -> Any:
        names = ["p", *(f"t{i}" for i in range(len(calls)))]
        pairs = zip(calls, names, names[1:], strict=False)
        body = [helper.make_node(call, [a], [b], domain="own") for call, a, b in pairs]
        return helper.make_function("own", name, ["p"], names[-1:], body, opsets)

    circle = [function("f0", "f1"), function("f1", "f0")]
    doubled = [function(f"f{i}", *[f"f{i + 1}"] * 2) for i in range(40)]
    deep = [function(f"f{i}", f"f{i + 1}") for i in range(500)]
    for name, functions, message in (
        ("function_calls_itself", [function("f0", "f0")], "malformed"),
        ("functions_in_a_circle", circle, "malformed"),
        ("functions_that_double", doubled, "the model's functions make more than 100,000 nodes"),
        ("functions_500_deep", deep, "malformed"),
    ):
        made = model(nodes=_nodes(_last("f0", "c", domain="own")), functions=functions)
        yield name, made.SerializeToString(), _FORMAT, message


def _field(number: int, content: bytes) -> bytes:
    """Return a field of bytes as protobuf writes it."""
    size, sizes = len(content), bytearray()
    while size > 127:
        sizes.append(size % 128 + 128)
        size //= 128
    return bytes([number << 3 | 2, *sizes, size]) + content
