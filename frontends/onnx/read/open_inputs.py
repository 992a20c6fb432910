"""Open sizes of inputs, from the caller's shapes and from the names in a file."""

import re
from collections.abc import Mapping
from keyword import iskeyword
from typing import Any

from frontends.onnx.read.names import dims_of
from frontends.open_sizes import Bounds, given_shapes, terms_of

Shapes = Mapping[str, Any]
"""Shapes of inputs by name: numbers, and ``Size`` objects for open sizes."""


def sized_inputs(graph: Any, shapes: Shapes | None) -> tuple[Shapes, dict[str, Bounds]]:
    """Return the given shapes of inputs, and the bounds of their open sizes.

    A size may be given under the file's name for it. If a given shape determines a named size, the
    inputs without a given shape get this size, too.

    Args:
        graph: a GraphProto.
        shapes: as ``given_shapes`` takes them.

    Returns:
        The shapes, of given numbers and ``Size`` objects; and the bounds by name.

    Raises:
        QnnError: a name is unknown, or a size is invalid.
    """
    if not shapes:
        return {}, {}
    constants = {tensor.name for tensor in graph.initializer}
    dims = {each.name: dims_of(each) for each in graph.input if each.name not in constants}
    texts = {dim for sizes in dims.values() for dim in sizes if isinstance(dim, str) and dim}
    named = texts | {term for text in texts for term in terms_of(text) if not term.isdecimal()}
    shapes = _with_names(dims, shapes)
    following = _following(dims, shapes, named)
    sizes = [size for each in following.values() for size in each if isinstance(size, str)]
    used = {term for size in sizes for term in terms_of(size)}
    given: dict[str, Any] = following
    for name, value in shapes.items():
        if name in dims or name not in named:
            given[name] = value
        elif _identifier(name) in used:  # otherwise an input has another unknown size
            given[_identifier(name)] = value
    if given.keys() <= dims.keys() and all(map(_are_numbers, given.values())):
        return given, {}
    from qnn_ops.dialect.sizes import sizes_of

    found, variables = given_shapes(given, list(dims), least=0), dict[str, Any]()
    open_shapes = {name: sizes_of(found.symbolic(name, variables)) for name in found.shapes}
    return open_shapes, {name: found.bounds_of(name) for name in variables}


def _with_names(dims: Mapping[str, list[Any]], shapes: Shapes) -> dict[str, Any]:
    """Return shapes in which the file's name of a size replaces its range; add ranges by name."""
    found, ranges = dict(shapes), dict[str, range]()
    for name in shapes.keys() & dims.keys():
        sizes = shapes[name]
        if not isinstance(sizes, list | tuple) or len(sizes) != len(dims[name]):
            continue
        found[name] = [*sizes]
        for axis, (dim, size) in enumerate(zip(dims[name], sizes, strict=True)):
            if not isinstance(size, range) or not isinstance(dim, str) or not dim:
                continue
            own = _identifier(dim)
            if own not in shapes and ranges.setdefault(own, size) == size:
                found[name][axis] = own
    return {**found, **ranges}


def _following(
    dims: Mapping[str, list[Any]], shapes: Shapes, named: set[str]
) -> dict[str, list[Any]]:
    """Return the shapes of inputs that follow from names and from the shapes of other inputs."""
    told = {name: _identifier(name) for name in shapes if name in named and name not in dims}
    for name in shapes.keys() & dims.keys():
        sizes = shapes[name] if isinstance(shapes[name], list | tuple) else []
        for dim, size in zip(dims[name], sizes, strict=False):
            if isinstance(dim, str) and dim and not isinstance(size, range):  # without a name
                told.setdefault(dim, size)
    told |= {
        text: " + ".join(str(told.get(term, term)) for term in terms_of(text))
        for text in named - told.keys()
        if all(term in told or term.isdecimal() for term in terms_of(text))
    }
    return {
        name: [told.get(size, size) for size in sizes]
        for name, sizes in dims.items()
        if name not in shapes
        and not named.isdisjoint(map(str, sizes))
        and all(size in told or (isinstance(size, int) and size > 0) for size in sizes)
    }


def _identifier(name: str) -> str:
    """Return an identifier for a file's name of a size; for a sum, one for each term."""
    if "+" in name:
        return " + ".join(
            each if each.isdecimal() else _identifier(each) for each in terms_of(name)
        )
    found = re.sub(r"\W", "_", name)
    return found if found.isidentifier() and not iskeyword(found) else f"size_{found}"


def _are_numbers(sizes: Any) -> bool:
    is_one = isinstance(sizes, str | range) or not hasattr(sizes, "__iter__")
    return not any(isinstance(size, str | range) for size in ([sizes] if is_one else sizes))
