"""The sizes that a program leaves open: numbers for them, names and bounds."""

from collections.abc import Mapping
from typing import Any

from frontends.errors import ModelFormatError
from frontends.formats import Shapes
from frontends.open_sizes import Bounds, GivenShapes, given_shapes
from frontends.torch.package import torch_package
from qnn_ops.errors import QnnError

OpenSizes = dict[str, tuple[str, Bounds]]
"""Names and bounds of open sizes, by their names in a program."""


def with_shapes(program: Any, shapes: Shapes | None = None) -> Any:
    """Return a program of the given sizes; torch exports it again if it leaves these open.

    Args:
        program: a ``torch.export.ExportedProgram``.
        shapes: of inputs by name, as ``given_shapes`` takes them. Sizes of other inputs follow if
            they have the same names. Sizes without a number stay open.

    Returns:
        The program itself, if no open size has a number.

    Raises:
        QnnError: no input has a name, or a size differs from the program's, or is beyond its
            limits.
        ModelFormatError: torch cannot export it for these sizes.
    """
    values, tensors = _inputs(program)
    given = given_shapes(shapes, list(tensors))
    numbers = _numbers(tensors, given)
    static = {name: [_size(size, numbers) for size in shape] for name, shape in tensors.items()}
    for name, shape in given.shapes.items():
        _check_shape(name, shape, static[name], tensors[name])
    _check_limits(program, numbers)
    if all(
        isinstance(size, int) or number is None
        for name, shape in tensors.items()
        for size, number in zip(shape, static[name], strict=True)
    ):
        return program
    return _exported(program, values, tensors, static)


def open_sizes(program: Any, shapes: Shapes | None = None) -> OpenSizes:
    """Return names and bounds of the sizes that a program of ``with_shapes`` leaves open.

    A size without a name in ``shapes`` keeps the program's name.

    Raises:
        QnnError: a size has two names, or bounds beyond the program's.
    """
    _, tensors = _inputs(program)
    given = given_shapes(shapes, list(tensors))
    found: OpenSizes = {}
    for name, shape in tensors.items():
        names = given.shapes.get(name, (None,) * len(shape))
        for axis, (size, wanted) in enumerate(zip(shape, names, strict=True)):
            if isinstance(size, int) or not size.node.expr.is_Symbol:
                continue
            symbol, limits = str(size.node.expr), _limits(program, size.node.expr)
            if wanted is None or isinstance(wanted, int):
                found.setdefault(symbol, (symbol, limits))
                continue
            if not wanted.isidentifier():
                raise QnnError(f"shape_dict: the program says {size}, where {wanted} is a sum")
            before, _ = found.get(symbol, (symbol, limits))
            if before not in (symbol, wanted):
                raise QnnError(
                    f"shape_dict: input {name!r}, axis {axis}: {wanted} has the name {before}, too"
                )
            low, high = given.bounds.get(wanted, limits)
            is_above = limits[1] is not None and (high is None or high > limits[1])
            if low < limits[0] or is_above:
                raise QnnError(
                    f"shape_dict: {wanted} is {low} to {high}: the program takes {limits[0]} to "
                    f"{limits[1]}"
                )
            found[symbol] = wanted, (low, high)
    if len({name for name, _ in found.values()}) < len(found):
        raise QnnError("shape_dict: a name stands for two sizes that the program does not equate")
    return found


def _inputs(program: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the values of inputs, and the shapes of those that are tensors, by name."""
    names = program.graph_signature.user_inputs
    values = {n.name: n.meta["val"] for n in program.graph.nodes if n.name in names}
    return values, {name: each.shape for name, each in values.items() if hasattr(each, "shape")}


def _limits(program: Any, symbol: Any) -> Bounds:
    found = program.range_constraints.get(symbol)
    if found is None:
        return 1, None
    high = found.upper
    return max(1, int(found.lower)), int(high) if getattr(high, "is_Integer", False) else None


def _check_shape(name: str, shape: Any, static: list[int | None], sizes: Any) -> None:
    """Check the shape that is given for an input."""
    needed = tuple(map(str, sizes))
    if len(shape) != len(sizes):
        raise QnnError(f"shape_dict: input {name!r} needs {len(sizes)} sizes as in {needed}")
    fixed = [size for size in sizes if isinstance(size, int)]
    is_named = any(
        isinstance(given, str) and isinstance(size, int)
        for given, size in zip(shape, sizes, strict=True)
    )
    if is_named:
        raise QnnError(f"shape_dict: input {name!r} is {needed}: {fixed} are not open")
    differs = any(
        isinstance(given, int) and given != number
        for given, number in zip(shape, static, strict=True)
    )
    if differs:
        raise QnnError(
            f"shape_dict: input {name!r} needs {static} by the program's shapes {needed}, "
            f"got {list(shape)}"
        )


def _is_derived(size: Any) -> bool:
    return not isinstance(size, int) and not size.node.expr.is_Symbol


def _numbers(tensors: Mapping[str, Any], given: GivenShapes) -> dict[Any, int]:
    """Return the numbers of open sizes that the given shapes determine, by name."""
    found: dict[Any, int] = {}
    for name, shape in given.shapes.items():
        for size, number in zip(tensors[name], shape, strict=False):
            if isinstance(size, int) or isinstance(number, str) or not size.node.expr.is_Symbol:
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


def _exported(
    program: Any, values: Mapping[str, Any], tensors: Mapping[str, Any], shapes: Mapping[str, Any]
) -> Any:
    torch = torch_package()
    tree = torch.utils._pytree
    dims: dict[str, Any] = {}

    def size_of(size: Any, number: int | None) -> int:
        return int(size.node.hint) if number is None else number

    def dim_of(size: Any) -> Any:
        if _is_derived(size):
            return torch.export.Dim.AUTO
        low, high = _limits(program, size.node.expr)
        return dims.setdefault(str(size), torch.export.Dim(str(size), min=low, max=high))

    try:
        leaves = [
            torch.empty(list(map(size_of, tensors[name], shapes[name])), dtype=value.dtype)
            if name in shapes
            else value
            for name, value in values.items()
        ]
        axes = [
            {
                axis: dim_of(size)
                for axis, size in enumerate(tensors[name])
                if shapes[name][axis] is None
            }
            if name in shapes
            else None
            for name in values
        ]
        args, kwargs = tree.tree_unflatten(leaves, program.call_spec.in_spec)
        dynamic: Any = None
        if any(axes):
            positional, named = tree.tree_unflatten(axes, program.call_spec.in_spec)
            dynamic = {**dict(zip(_parameters(program, args), positional, strict=True)), **named}
        try:
            return torch.export.export(program.module(), args, kwargs, dynamic_shapes=dynamic)
        except RuntimeError:  # torch exports no detach_ of a constant twice
            module = program.run_decompositions({}).module()
            return torch.export.export(module, args, kwargs, dynamic_shapes=dynamic)
    except Exception as error:  # whatever torch meets
        reason = next(iter(str(error).strip().splitlines()), type(error).__name__)
        raise ModelFormatError(
            f"the program cannot be exported for {dict(shapes)}: {reason}"
        ) from None


def _parameters(program: Any, args: Any) -> list[str]:
    """Return the names of the positional parameters."""
    import inspect

    return list(inspect.signature(program.module().forward).parameters)[: len(args)]
