"""Checks for attributes that would make the package onnx hang or end the process.

A window larger than its data and pads makes a tensor of a negative size. The package's shape
inference stores that size, and its rule of Slice ends the process when it reads a negative size.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from frontends.errors import ModelFormatError, UnsupportedError
from frontends.onnx.read.names import (
    copied,
    inner_graphs,
    is_of_standard,
    line_of,
    numbers_of,
    onnx_package,
)

_TERM = re.compile(r"([A-Za-z]*)(\.\.\.)?([A-Za-z]*)")
_ARROW, _REST = "->", "..."


def check_equations(proto: Any) -> None:
    """Check the text of every equation.

    Raises:
        ModelFormatError: an equation is invalid; the error names the operator and the reason.
    """
    for node in _nodes(proto, "Einsum"):
        text = next((each.s for each in node.attribute if each.name == "equation"), b"")
        try:
            terms = _terms(text)
            if len(terms) != len(node.input):
                raise UnsupportedError(f"{len(terms)} terms for {len(node.input)} operands")
        except UnsupportedError as error:
            name, equation = [*node.output, ""][0], text.decode(errors="replace")
            raise ModelFormatError(f"Einsum {name!r}: equation {equation!r}: {error}") from None


def check_batches(proto: Any) -> None:
    """Check that no GatherND has fewer than 0 axes of batches.

    Raises:
        ModelFormatError: one has; the error names it.
    """
    for node in _nodes(proto, "GatherND"):
        count = min((each.i for each in node.attribute if each.name == "batch_dims"), default=0)
        if count < 0:
            raise ModelFormatError(f"GatherND {[*node.output, ''][0]!r}: batch_dims is {count}")


def _nodes(proto: Any, name: str) -> list[Any]:
    """Return the standard's operators of a name, also in inner graphs and functions."""
    graphs = (proto.graph, *inner_graphs(proto.graph), *proto.functions)
    return [node for graph in graphs for node in graph.node if is_of_standard(node, name)]


def check_sizes(equation: bytes, shapes: Sequence[tuple[int, ...] | None]) -> None:
    """Check the sizes of letters; a size of 1 is repeated.

    Args:
        equation: an equation that passed ``check_equations``.
        shapes: of the operands; None if not known.

    Raises:
        UnsupportedError: an operand has another number of axes, or a letter has two sizes.
    """
    text, sizes = equation.decode(), dict[str, int]()
    for term, shape in zip(_terms(equation), shapes, strict=True):
        if shape is None:
            continue
        before, rest, after = term.partition(_REST)
        if len(before + after) > len(shape) or (not rest and len(before + after) < len(shape)):
            raise UnsupportedError(f"equation {text!r}: {term!r} for data of shape {list(shape)}")
        ends = [*zip(before, shape, strict=False)]
        ends += zip(after, shape[len(shape) - len(after) :], strict=True)
        own: dict[str, int] = {}
        for letter, size in ends:
            if own.setdefault(letter, size) != size:
                raise UnsupportedError(f"equation {text!r}: {letter} is {own[letter]} and {size}")
            if size != 1 and sizes.setdefault(letter, size) != size:
                raise UnsupportedError(f"equation {text!r}: {letter} is {sizes[letter]} and {size}")


def _terms(equation: bytes) -> list[str]:
    """Return the terms of operands."""
    text = equation.decode(errors="replace").replace(" ", "")
    left, arrow, result = text.partition(_ARROW)
    terms = left.split(",")
    for term in (*terms, result):
        if _TERM.fullmatch(term) is None:
            raise UnsupportedError(f"{term!r} is no row of letters, in which '...' may stand once")
    letters = left.replace(_REST, "")
    own = result.replace(_REST, "")
    if arrow and (len({*own}) != len(own) or not {*own} <= {*letters}):
        raise UnsupportedError("each letter of the result must stand there once, and on the left")
    return terms


_LATER = "tvm_qnn.later"
"""The domain of a Slice that shape inference must ignore."""

_LARGE = 1 << 31

Ints = Mapping[str, list[int]]
Shape = list[int | None]


def check_windows(proto: Any) -> None:
    """Raise if a window makes a tensor of a negative size, as ONNX Runtime does.

    Args:
        proto: a model whose inputs have static shapes. It is not changed.

    Raises:
        ModelFormatError: a size is negative; the error names the node and its attributes.
    """
    nodes = [node for graph in (proto.graph, *inner_graphs(proto.graph)) for node in graph.node]
    if not any(map(_is_slice, nodes)) or not any(map(_may_not_fit, nodes)):
        return
    trial = copied(proto)
    trial.opset_import.append(onnx_package().helper.make_opsetid(_LATER, 1))
    graphs = [trial.graph, *inner_graphs(trial.graph)]
    for graph in graphs:
        del graph.value_info[:]
        for value in graph.output:  # a wrong shape would hide the inferred one
            value.type.tensor_type.ClearField("shape")
    nodes = [node for graph in graphs for node in graph.node]
    windows, slices = list(filter(_may_not_fit, nodes)), list(filter(_is_slice, nodes))
    for node in slices:
        node.domain = _LATER
    # Each iteration adds the Slices whose data are known to have valid sizes.
    while windows:
        shapes = _shapes(trial)
        for node in windows:
            _check(node, shapes)
        made = ((node, shapes.get(node.output[0], [])) for node in windows)
        windows = [node for node, known in made if not known or any(None in each for each in known)]
        ready = [node for node in slices if _has_sizes(shapes.get(node.input[0], []))]
        if not ready:
            return
        for node in ready:
            node.domain = ""
        slices = [node for node in slices if node.domain]


def _is_slice(node: Any) -> bool:
    return is_of_standard(node, "Slice") and bool(node.input)


def _ints(node: Any) -> dict[str, list[int]]:
    return {each.name: [*each.ints] for each in node.attribute if each.ints}


def _may_not_fit(node: Any) -> bool:
    """Tell whether a node's window is too large for some data, for example empty data."""
    if not is_of_standard(node, *WINDOWS) or not node.output:
        return False
    ints = _ints(node)
    modes = {each.s for each in node.attribute if each.name == "auto_pad"}
    if modes - {b"", b"NOTSET"}:
        ints.pop("pads", None)
    if "kernel_shape" not in ints or any(abs(n) >= _LARGE for each in ints.values() for n in each):
        return True
    return not all(WINDOWS[node.op_type](ints, axis) for axis in range(len(ints["kernel_shape"])))


def _at(ints: Ints, name: str, axis: int, default: int) -> int:
    values = ints.get(name, [])
    return values[axis] if axis < len(values) else default


def _span(ints: Ints, axis: int) -> int:
    return (ints["kernel_shape"][axis] - 1) * _at(ints, "dilations", axis, 1) + 1


def _padding(ints: Ints, axis: int) -> int:
    pads = ints.get("pads", [])
    return sum(pads[axis :: max(len(ints["kernel_shape"]), 1)])


def _always_fits(ints: Ints, axis: int) -> bool:
    return _span(ints, axis) <= _padding(ints, axis) + 1


def _always_fits_transposed(ints: Ints, axis: int) -> bool:
    made = _span(ints, axis) + _at(ints, "output_padding", axis, 0)
    return made >= _padding(ints, axis) + _at(ints, "strides", axis, 1)


WINDOWS: dict[str, Callable[[Ints, int], bool]] = {
    **dict.fromkeys(("AveragePool", "LpPool", "MaxPool"), _always_fits),
    **dict.fromkeys(("Conv", "ConvInteger", "DeformConv", "QLinearConv"), _always_fits),
    **dict.fromkeys(("ConvTranspose", "MaxUnpool"), _always_fits_transposed),
}
"""By operator name: whether its result has a valid size along an axis for all data."""


def _shapes(proto: Any) -> dict[str, list[Shape]]:
    """Return the shapes of tensors by name; two inner graphs may use the same name."""
    try:
        proto = onnx_package().shape_inference.infer_shapes(proto, data_prop=True)
    except Exception as error:  # of the package's library
        text = f"the ONNX model's shapes do not fit: {line_of(error)}"
        raise ModelFormatError(text) from None
    found: dict[str, list[Shape]] = {}
    for graph in (proto.graph, *inner_graphs(proto.graph)):
        for tensor in graph.initializer:
            found.setdefault(tensor.name, []).append([*tensor.dims])
        for value in (*graph.input, *graph.value_info, *graph.output):
            if value.type.tensor_type.HasField("shape"):
                found.setdefault(value.name, []).append(numbers_of(value))
    return found


def _has_sizes(shapes: list[Shape]) -> bool:
    """Tell whether a tensor has a shape, and no negative size in it."""
    return bool(shapes) and not any(_is_negative(shape) for shape in shapes)


def _is_negative(shape: Shape) -> bool:
    return any(size is not None and size < 0 for size in shape)


def _check(node: Any, shapes: Mapping[str, list[Shape]]) -> None:
    for shape in filter(_is_negative, shapes.get(node.output[0], [])):
        ints = ", ".join(f"{name} {values}" for name, values in sorted(_ints(node).items()))
        text = [size if size is not None else "?" for size in shape]
        data = [*shapes.get(node.input[0], [])]
        of = f"data of shape {data[0]}" if len(data) == 1 else "its data"
        raise ModelFormatError(
            f"{node.op_type} {node.output[0]!r} has a window too large for {of}: "
            f"{ints or 'its weights'} would make a tensor of shape {text}"
        )
