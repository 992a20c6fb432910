"""Reads ``shape_dict``: the sizes of a model's inputs as numbers, names or bounds."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from keyword import iskeyword
from typing import Any

from qnn_ops.errors import QnnError

Bounds = tuple[int, "int | None"]
"""The least and the largest size; None if there is no bound."""

ANY: Bounds = (1, None)


@dataclass(frozen=True)
class GivenShapes:
    """The shapes that are given for inputs.

    Attributes:
        shapes: of inputs by name: a size is a number, the name of an open size, or a sum of these.
        bounds: of open sizes that have any, by name.
        numbers: of sizes by name, for names that have a number.
    """

    shapes: Mapping[str, tuple[int | str, ...]] = field(default_factory=dict)
    bounds: Mapping[str, Bounds] = field(default_factory=dict)
    numbers: Mapping[str, int] = field(default_factory=dict)

    def bounds_of(self, name: str) -> Bounds:
        """Return the bounds of an open size."""
        return self.bounds.get(name, ANY)

    def symbolic(self, name: str, variables: dict[str, Any]) -> tuple[Any, ...]:
        """Return an input's shape in TVM's form.

        Args:
            name: of the input.
            variables: TVM's variables of open sizes, by name; missing variables are added.
        """
        from tvm import tirx

        def expression(size: int | str) -> Any:
            if isinstance(size, int):
                return size
            return sum(
                int(term)
                if term.isdecimal()
                else variables.setdefault(term, tirx.Var(term, "int64"))
                for term in terms_of(size)
            )

        return tuple(map(expression, self.shapes[name]))


def given_shapes(
    shape_dict: Mapping[str, Any] | None, inputs: Sequence[str], *, least: int = 1
) -> GivenShapes:
    """Read shapes of inputs.

    Args:
        shape_dict: an input's name maps to its sizes, each a number, a name, a sum such as "past +
            tokens", or a ``range`` of numbers that gives bounds: ``{"ids": ("batch", "length")}``.
            A size's name maps to a ``range`` or a number: ``{"length": range(1, 513)}``.
        inputs: the names of the model's inputs.
        least: the least number that a size may be.

    Raises:
        QnnError: if a name is unknown, or a size is something else, or below the least one.
    """
    shapes: dict[str, tuple[int | str, ...]] = {}
    bounds: dict[str, Bounds] = {}
    numbers: dict[str, int] = {}
    given = dict(shape_dict or {})
    for name in [name for name in given if name in inputs]:
        shapes[name] = _shape(name, given.pop(name), bounds, least)
    texts = [size for shape in shapes.values() for size in shape if isinstance(size, str)]
    named = {term for text in texts for term in terms_of(text) if not term.isdecimal()}
    for name, value in given.items():
        one = value[0] if isinstance(value, tuple | list) and len(value) == 1 else value
        if name not in named:
            known = ", ".join(map(repr, (*inputs, *sorted(named)))) or "none"
            raise QnnError(f"shape_dict: no input is named {name!r}; there are {known}")
        if isinstance(one, str) or not _is_size(one):
            raise QnnError(f"shape_dict: the size {name!r} is a number or a range, got {value!r}")
        if isinstance(one, range):
            bounds[name] = _bounds(name, one, least)
        else:
            numbers[name] = _number(name, one, least)
    shapes = {name: tuple(_replaced(shape, numbers)) for name, shape in shapes.items()}
    return GivenShapes(shapes, bounds, numbers)


def terms_of(size: str) -> list[str]:
    """Return the names and numbers of a sum; a single name is a sum, too."""
    return [term.strip() for term in size.split("+")]


def _replaced(shape: Iterable[int | str], numbers: Mapping[str, int]) -> Iterator[int | str]:
    """Yield sizes with numbers in place of names."""
    for size in shape:
        if isinstance(size, int):
            yield size
            continue
        terms = [str(numbers.get(term, term)) for term in terms_of(size)]
        yield sum(map(int, terms)) if all(map(str.isdecimal, terms)) else " + ".join(terms)


def own_name(name: str, axis: int) -> str:
    """Return a name for an input's open size without a name."""
    return f"{name}_{axis}" if name.isidentifier() else f"size_{axis}"


def _shape(name: str, value: Any, bounds: dict[str, Bounds], least: int) -> tuple[int | str, ...]:
    if isinstance(value, str | range) or not hasattr(value, "__iter__"):
        value = [value]
    sizes: list[int | str] = []
    for axis, size in enumerate(value):
        if isinstance(size, range):
            own = own_name(name, axis)
            bounds[own] = _bounds(name, size, least)
            sizes.append(own)
        elif isinstance(size, str) and all(map(_is_term, terms_of(size))):
            sizes.append(size)
        elif not isinstance(size, str) and _is_size(size):
            sizes.append(_number(name, size, least))
        else:
            raise QnnError(
                f"shape_dict: a size of input {name!r} is a number, a name or a range, got {size!r}"
            )
    return tuple(sizes)


def _is_size(value: Any) -> bool:
    is_number = hasattr(value, "__index__") and not isinstance(value, bool)
    return is_number or isinstance(value, range)


def _is_term(text: str) -> bool:
    return text.isdecimal() or (text.isidentifier() and not iskeyword(text))


def _number(name: str, value: Any, least: int) -> int:
    number = int(value)
    if number < least:
        raise QnnError(f"shape_dict: {name!r} needs sizes of {least} or more, got {number}")
    return number


def _bounds(name: str, value: range, least: int) -> Bounds:
    if value.step != 1 or not value or value[0] < least:
        raise QnnError(
            f"shape_dict: {name!r} needs a range of sizes of {least} or more, got {value}"
        )
    return value[0], value[-1]
