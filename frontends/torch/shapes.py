"""Values for the sizes that a program leaves open."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from frontends.errors import ModelFormatError
from frontends.formats import Shapes
from frontends.torch.package import torch_package
from qnn_ops.attributes import int_list_attr
from qnn_ops.errors import QnnError


def with_shapes(program: Any, shapes: Shapes | None = None, *, as_example: bool = False) -> Any:
    """Return a program of static shapes, which torch exports anew if sizes are open.

    Args:
        program: a ``torch.export.ExportedProgram``.
        shapes: of inputs by name. Sizes of other inputs follow if they have the same names.
        as_example: whether sizes that do not follow are those of the inputs at export.

    Returns:
        The program itself, if its shapes are static.

    Raises:
        QnnError: a name is not that of an input, a size is not given, differs from the program's,
            or is beyond its limits.
        ModelFormatError: torch cannot export it for these.
    """
    inputs = {
        node.name: node
        for node in program.graph.nodes
        if node.name in program.graph_signature.user_inputs
    }
    tensors = {k: n.meta["val"].shape for k, n in inputs.items() if hasattr(n.meta["val"], "shape")}
    given: dict[str, list[int]] = {}
    for name, shape in (shapes or {}).items():
        if name not in tensors:
            known = ", ".join(map(repr, tensors)) or "none"
            raise QnnError(f"shape_dict: no input is named {name!r}; there are {known}")
        given[name] = int_list_attr(f"shape_dict: the shape of input {name!r}", shape)
        if len(given[name]) != len(tensors[name]) or min(given[name], default=1) < 1:
            needed = tuple(map(str, tensors[name]))
            raise QnnError(f"shape_dict: input {name!r} needs positive sizes as in {needed}")
    numbers = _numbers(tensors, given)
    if as_example:
        for size in sorted((s for shape in tensors.values() for s in shape), key=_is_derived):
            if _size(size, numbers) is None and size.node.hint is not None:
                numbers[size.node.expr] = size.node.hint
    static = {name: [_size(size, numbers) for size in shape] for name, shape in tensors.items()}
    for name, shape in given.items():
        if static[name] != shape:
            raise QnnError(
                f"shape_dict: input {name!r} needs {static[name]} by the program's shapes "
                f"{tuple(map(str, tensors[name]))}, got {shape}"
            )
    if unknown := [name for name, shape in static.items() if None in shape]:
        listed = ", ".join(f"{each!r} {tuple(map(str, tensors[each]))}" for each in unknown)
        raise QnnError(f"the program leaves sizes open: give shape_dict the shapes of {listed}")
    _check_limits(program, numbers)
    if all(isinstance(size, int) for shape in tensors.values() for size in shape):
        return program
    return _exported(program, {k: n.meta["val"] for k, n in inputs.items()}, static)


def _is_derived(size: Any) -> bool:
    return not isinstance(size, int) and not size.node.expr.is_Symbol


def _numbers(tensors: Mapping[str, Any], given: Shapes) -> dict[Any, int]:
    """Return the values of the names of open sizes, by the given shapes."""
    found: dict[Any, int] = {}
    for name, shape in given.items():
        for size, number in zip(tensors[name], shape, strict=True):
            if isinstance(size, int) or not size.node.expr.is_Symbol:
                continue
            other = found.setdefault(size.node.expr, number)
            if other != number:
                raise QnnError(f"shape_dict: {size} in the program is {other} and {number}")
    return found


def _size(size: Any, numbers: Mapping[Any, int]) -> int | None:
    """Return a size as a number; None if the given shapes do not determine it."""
    if isinstance(size, int):
        return size
    expression = size.node.expr
    value = numbers.get(expression, expression.subs(numbers))
    return int(value) if isinstance(value, int) or value.is_Integer else None


def _check_limits(program: Any, numbers: Mapping[Any, int]) -> None:
    for expression, limits in program.range_constraints.items():
        value = expression.subs(numbers)
        if value.is_Integer and not limits.lower <= value <= limits.upper:
            raise QnnError(
                f"shape_dict: {expression} is {value}: the program takes {limits.lower} to "
                f"{limits.upper}"
            )


def _exported(program: Any, values: Mapping[str, Any], shapes: Mapping[str, Any]) -> Any:
    torch = torch_package()
    tree = torch.utils._pytree
    try:
        leaves = [
            torch.empty(shapes[name], dtype=value.dtype) if name in shapes else value
            for name, value in values.items()
        ]
        args, kwargs = tree.tree_unflatten(leaves, program.call_spec.in_spec)
        try:
            return torch.export.export(program.module(), args, kwargs)
        except RuntimeError:  # torch exports no detach_ of a constant twice
            return torch.export.export(program.run_decompositions({}).module(), args, kwargs)
    except Exception as error:  # whatever torch meets
        reason = next(iter(str(error).strip().splitlines()), type(error).__name__)
        raise ModelFormatError(
            f"the program cannot be exported for {dict(shapes)}: {reason}"
        ) from None
