"""The arguments and results of a model's function: inputs with shapes, names of outputs."""

from collections.abc import Mapping, Sequence

from tvm import relax

from frontends.mxnet.attributes import Attributes
from frontends.mxnet.graph import Entry, Graph, reachable
from qnn_ops.arrays import Array
from qnn_ops.dialect.attributes import int_list_attr
from qnn_ops.dialect.registry import TensorSpec, spec_of
from qnn_ops.dialect.signature import Signature, TensorInfo
from qnn_ops.errors import QnnError

Shapes = Mapping[str, Sequence[int]] | Sequence[int] | None
Dtypes = str | Mapping[str, str]

_DTYPES = ("float32", "float64", "float16", "uint8", "int32", "int8", "int64")


def input_specs(
    graph: Graph, known: Mapping[str, Array], shape: Shapes, dtype: Dtypes
) -> dict[int, TensorSpec]:
    """Return shape and dtype of every input that has a shape, by node number.

    An input is a variable that is not a parameter. An input without a shape, such as the label of a
    loss, is left out; an operator that reads it raises an error.

    Args:
        graph: the model.
        known: the parameters.
        shape: of the inputs by name, or of the only one; missing ones come from the file, if it
            states them.
        dtype: of all inputs, or by name; float32 if one is missing.

    Raises:
        QnnError: a name is not that of an input, there are several inputs but one shape, or a
            shape or dtype is invalid.
    """
    inputs = {
        graph.nodes[number].name: number
        for number in reachable(graph)
        if graph.nodes[number].is_variable and graph.nodes[number].name not in known
    }
    shapes = _shapes(graph, inputs, shape)
    dtypes = dict.fromkeys(inputs, dtype) if isinstance(dtype, str) else dict(dtype)
    for argument, given in (("shape", shapes), ("dtype", dtypes)):
        for name in given:
            if name not in inputs:
                text = ", ".join(map(repr, inputs)) or "none"
                raise QnnError(f"{argument}: no input is named {name!r}; there are {text}")
    return {
        inputs[name]: TensorSpec(_checked(name, shapes[name]), _dtype(dtypes.get(name, "float32")))
        for name in inputs
        if name in shapes
    }


def _shapes(graph: Graph, inputs: Mapping[str, int], shape: Shapes) -> dict[str, Sequence[int]]:
    sizes = {
        name: Attributes(graph.nodes[number].attrs).integers("__shape__", ())
        for name, number in inputs.items()
    }
    stated: dict[str, Sequence[int]] = {
        name: each for name, each in sizes.items() if each and min(each) > 0
    }
    if shape is None:
        return stated
    if isinstance(shape, Mapping):
        return {**stated, **shape}
    # If there are several, take one without a known shape; labels come last.
    if not inputs:
        raise QnnError("shape: the model has no input")
    first = next((name for name in inputs if name not in stated), next(iter(inputs)))
    others = [name for name in inputs if name != first and not name.endswith("label")]
    if others:
        names = ", ".join(map(repr, inputs))
        raise QnnError(f"shape: there are several inputs, {names}: give a dict of shapes by name")
    return {**stated, first: shape}


def _checked(name: str, shape: Sequence[int]) -> tuple[int, ...]:
    sizes = tuple(int_list_attr(f"the shape of input {name!r}", shape))
    if any(size < 1 for size in sizes):
        raise QnnError(f"input {name!r} needs positive sizes, got {sizes}")
    return sizes


def _dtype(dtype: str) -> str:
    if dtype not in _DTYPES:
        raise QnnError(f"a dtype must be one of {', '.join(_DTYPES)}, got {dtype!r}")
    return dtype


def signature(
    graph: Graph, inputs: Mapping[int, TensorSpec], outputs: Sequence[relax.Expr]
) -> Signature:
    """Return inputs' and outputs' names, shapes and dtypes; outputs have their MXNet names."""
    named = [(graph.nodes[number].name, spec) for number, spec in inputs.items()]
    results = zip(output_names(graph), map(spec_of, outputs), strict=True)
    given, made = (
        tuple(TensorInfo(name, spec.shape, spec.dtype) for name, spec in pairs)
        for pairs in (named, results)
    )
    return Signature(given, made)


def output_names(graph: Graph) -> list[str]:
    """Name each head: the node's name followed by "_output", without duplicates."""
    names: list[str] = []
    for head in graph.heads:
        name = f"{graph.nodes[head.node].name}_output"
        if head.output or Entry(head.node, 1) in graph.heads:
            name += str(head.output)
        while name in names:
            name += "_"
        names.append(name)
    return names
