"""Shape inference: the shapes of inputs, and the shapes that follow from them."""

from collections.abc import Callable, Sequence
from typing import Any

from frontends.bounds import check_elements
from frontends.errors import ModelFormatError, UnsupportedError, UnsupportedOperatorError
from frontends.onnx.graph.graph import Graph
from frontends.onnx.read.limits import check_windows
from frontends.onnx.read.names import copied, dims_of, line_of, onnx_package, opset_of
from frontends.onnx.read.open_inputs import Shapes
from qnn_ops.dialect.attributes import int_list_attr
from qnn_ops.errors import QnnError

_LARGE = 1 << 62
_MOST_UNITS = 1 << 24

NO_DATA = "tvm_qnn_no_data"
"""A metadata entry: shape inference must not follow values in this model; see ``growth``."""


def with_shapes(proto: Any, shapes: Shapes | None) -> Graph:
    """Return the graph of a model with static shapes of inputs and inferred shapes.

    See ``infer``.
    """
    graph = Graph(proto, shapes)
    infer(graph)
    return graph


def infer(graph: Graph) -> Any:
    """Give inputs static shapes, and infer the other shapes.

    Afterwards no constant is an input: old files list constants among the inputs.

    Args:
        graph: a model; it gets the shapes of its inputs.

    Returns:
        The package's result: a ModelProto without the values of large constants.

    Raises:
        QnnError: a name is not an input's, or a size is missing or not positive.
        ModelFormatError: the shapes do not fit the operators.
    """
    graph.input = [copied(each) for each in graph.input if each.name not in graph.constants]
    names = [value.name for value in graph.input]
    for name in graph.given:
        if name not in names:
            text = ", ".join(map(repr, names)) or "none"
            raise QnnError(f"shape: no input is named {name!r}; there are {text}")
    symbols = graph.symbols
    found = (
        (value.name, _set_shape(value, graph.given.get(value.name), symbols))
        for value in graph.input
    )
    if open_ones := [(name, text) for name, text in found if text]:
        raise QnnError(_needed(open_ones))
    while True:
        result = _found(graph)
        graph.value_info, graph.output = [*result.graph.value_info], [*result.graph.output]
        graph.find_types()
        graph.given = {name: graph.shapes[name] for name in names}
        if not symbols:
            return result
        from frontends.onnx.graph.open_shapes import follow

        if not follow(graph):
            return result


def _found(graph: Graph) -> Any:
    """Return the package's inference for a graph whose inputs have shapes."""
    proto = graph.to_proto(is_hollow=True)
    del proto.graph.value_info[:]
    if graph.symbols:
        _state_sizes(graph, proto.graph)
    check_windows(proto)
    try:
        return _inferred(proto)
    except UnsupportedOperatorError:  # of a rule for a custom operator
        raise
    except Exception:  # of onnx, and of the protobuf library on its way
        for value in proto.graph.output:  # files state wrong shapes, which ONNX Runtime ignores
            value.type.tensor_type.ClearField("shape")
    try:
        return _inferred(proto)
    except Exception as error:  # of the same libraries
        proto.metadata_props.add().key = NO_DATA  # the package cannot add up values of 3 axes
        text = f"the ONNX model's shapes do not fit: {line_of(error)}"
    try:
        return _inferred(proto)
    except Exception:  # of the same libraries
        raise ModelFormatError(text) from None


def _state_sizes(graph: Graph, proto: Any) -> None:
    """Write known open sizes into the model; sizes that a file states for outputs may be wrong."""
    make = onnx_package().helper.make_tensor_value_info
    outputs = {value.name: value for value in proto.output}
    for value in proto.output:
        value.type.tensor_type.ClearField("shape")
    for name, shape in graph.sized.items():
        dims = [_dim(graph.symbols, size) for size in shape]
        stated = make(name, graph.kinds.get(name, 0), dims)
        if name in outputs:
            outputs[name].CopyFrom(stated)
        elif name not in graph.constants:
            proto.value_info.append(stated)


def _dim(symbols: dict[str, Any], size: Any) -> int | str:
    """Return a size for a dimension: a number, or the text of an open size."""
    if isinstance(size, int):
        return size
    symbols[str(size)] = size
    return str(size)


def _inferred(proto: Any) -> Any:
    """Infer shapes, also for operators that the standard lacks, or has only in later versions."""
    onnx = onnx_package()
    opset, constants = opset_of(proto), len(proto.graph.initializer)
    follows_data = not any(entry.key == NO_DATA for entry in proto.metadata_props)
    unknown = {
        number: node
        for number, node in enumerate(proto.graph.node)
        if node.op_type in STAND_INS and not onnx.defs.has(node.op_type, opset)
    }
    given = proto if not unknown else copied(proto)
    for number, node in unknown.items():
        given.graph.node[number].CopyFrom(STAND_INS[node.op_type](given, node))
    result = onnx.shape_inference.infer_shapes(given, strict_mode=True, data_prop=follows_data)
    for number, node in unknown.items():
        result.graph.node[number].CopyFrom(node)
    del result.graph.initializer[constants:]
    return result


def _like_data(_model: Any, node: Any) -> Any:
    return onnx_package().helper.make_node("Identity", list(node.input[:1]), list(node.output[:1]))


def _with_units(model: Any, node: Any) -> Any:
    """Return a node whose result has the data's shape, except for the last axis."""
    (units,) = (each.i for each in node.attribute if each.name == "N")
    if not 0 < units <= _MOST_UNITS:
        raise ValueError(f"{node.op_type} of {node.output[0]!r}: N is {units}")
    onnx, name = onnx_package(), f"{node.output[0]}_tvm_qnn_indices"
    tensor = onnx.helper.make_tensor(name, onnx.TensorProto.INT64, [units], [0] * units)
    model.graph.initializer.append(tensor)
    return onnx.helper.make_node("Gather", [node.input[0], name], list(node.output[:1]), axis=-1)


STAND_INS: dict[str, Callable[[Any, Any], Any]] = {
    **dict.fromkeys(("Gelu", "LayerNormalization", "RMSNormalization"), _like_data),
    **dict.fromkeys(("DequantizeFloat8", "QuantizeFloat8"), _like_data),
    "MatMulNBits": _with_units,
}
"""Stand-ins, with results of the same shapes, for operators that the package may not know.

``stand_in(model, node)`` returns another node; it may add to the model.
"""


def _set_shape(value: Any, given: Sequence[int] | None, symbols: dict[str, Any]) -> str:
    """Give an input its shape; return its own shape if that is open, otherwise nothing."""
    if value.type.WhichOneof("value") != "tensor_type":
        raise QnnError(f"input {value.name!r} must be a tensor")
    dims = value.type.tensor_type.shape.dim
    if given is not None:
        is_open = hasattr(given, "__iter__") and any(hasattr(each, "variables") for each in given)
        what = f"the shape of input {value.name!r}"
        sizes = list(given) if is_open else int_list_attr(what, given)
        if dims and len(sizes) != len(dims):  # for a scalar, ONNX Runtime takes any shape
            raise QnnError(f"input {value.name!r} has {len(dims)} dimensions, got {sizes}")
        value.type.tensor_type.shape.SetInParent()
        del dims[:]
        for size in sizes:
            if isinstance(size, int):
                dims.add().dim_value = min(size, _LARGE)
            else:
                dims.add().dim_param = str(_dim(symbols, size))
    if not value.type.tensor_type.HasField("shape"):
        return "no shape"
    # In a file, exporters write 0 for an open size.
    least = 1 if given is None else 0
    known = dims_of(value)
    if any(size < least if isinstance(size, int) else size not in symbols for size in known):
        return str(["?" if size == "" else size for size in known])
    try:
        check_elements([size for size in known if isinstance(size, int)])
    except UnsupportedError as error:
        raise QnnError(f"input {value.name!r}: {error}") from None
    return ""


def _needed(inputs: Sequence[tuple[str, str]]) -> str:
    """Return the message that inputs need static shapes, with their names and their shapes."""
    if len(inputs) > 1:
        text = ", ".join(f"{name!r} has {shape}" for name, shape in inputs)
        return f"inputs need static shapes, {text}: give their shapes by name"
    ((name, shape),) = inputs
    if shape == "no shape":
        return f"input {name!r} has no shape: give its shape by name"
    return f"input {name!r} needs a static shape, got {shape}: give its shape by name"
