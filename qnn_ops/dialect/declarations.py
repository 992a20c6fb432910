"""An operator's operands and attributes, read from the signature of its function."""

import functools
import inspect
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, get_args, get_origin

from tvm import relax

from qnn_ops.dialect.checks import check_choice, check_dtype, check_rank
from qnn_ops.dialect.declared import Attribute, Tensor

_ENTRY = re.compile(r"    (\w+): ")

_ERRORS = (
    "    QnnError: if a dtype, a shape or an attribute does not fit (raised when the call's type",
    "        is inferred).",
)


class Declaration:
    """The parameters of an operator's function: tensors, and attributes of ``declared``.

    Attributes:
        attributes: what the attributes declare, by their names.
        tensors: the names of the tensors.
        tuples: the names of operands that are several tensors.
    """

    def __init__(self, function: Callable[..., None]) -> None:
        """Read the signature of ``function``; all parameters but the tensors are attributes."""
        self._function = function
        self._parameters = inspect.signature(function).parameters
        self._defaults = {name: each.default for name, each in self._parameters.items()}
        names = vars(sys.modules[function.__module__])
        self._types = {
            name: _evaluated(each.annotation, names) for name, each in self._parameters.items()
        }
        declared = {name: _declared(each, Attribute) for name, each in self._types.items()}
        self.attributes = {name: each for name, each in declared.items() if each}
        self.tensors = tuple(name for name, each in declared.items() if not each)
        for name in self.tensors:
            if not _is_tensor(self._types[name]):
                raise TypeError(f"{function.__name__}: {name} declares no attribute")
        self.tuples = {name for name in self.tensors if _is_sequence(self._types[name])}
        self._operands = {name: _declared(self._types[name], Tensor) for name in self.tensors}

    @property
    def implied(self) -> dict[str, Any]:
        """The defaults of the attributes that a call has only if it differs from them."""
        return {
            name: self._defaults[name] for name, each in self.attributes.items() if each.implied
        }

    def given(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """Return all parameters' values by their names; raise TypeError as Python's calls do."""
        self._function(*args, **kwargs)
        return {**self._defaults, **dict(zip(self._defaults, args, strict=False)), **kwargs}

    def attrs(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the attributes of a call with these arguments, each in its form."""
        return dict(self._formed(given))

    def _formed(self, given: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
        for name, attribute in self.attributes.items():
            if attribute.needed and not attribute.needed(given):
                continue
            value, default = given[name], self._defaults[name]
            if attribute.default:
                standing = attribute.default(given)
                value = standing if value is None or value is default else value
            if value is None and default is None:
                continue
            formed = attribute.form(name, value)
            if not (attribute.implied and formed == default):
                yield name, formed

    def check(self, attrs: object, operands: Sequence[Any] = ()) -> None:
        """Raise unless each attribute and operand of a call is as it is declared."""
        for name, attribute in self.attributes.items():
            if attribute.allowed and hasattr(attrs, name):
                check_choice(name, getattr(attrs, name), attribute.allowed)
        for (name, tensor), spec in zip(self._operands.items(), operands, strict=False):
            if tensor is not None and tensor.dtypes:
                check_dtype(name, spec.dtype, tensor.dtypes)
            if tensor is not None and tensor.rank is not None:
                check_rank(name, spec, tensor.rank)

    def signature(self, result: Any) -> inspect.Signature:
        """Return the signature without what the annotations declare, for readers."""
        parameters = [
            each.replace(annotation=_plain(self._types[name]))
            for name, each in self._parameters.items()
        ]
        return inspect.Signature(parameters, return_annotation=result)

    def document(self, text: str) -> str:
        """Add the declared attributes to a documentation, and the errors if it tells none."""
        lines = inspect.cleandoc(text).split("\n")
        if "Args:" not in lines:
            return "\n".join(lines)
        begin = lines.index("Args:") + 1
        end = next(i for i in range(begin, len(lines) + 1) if not lines[i : i + 1] or not lines[i])
        entries: dict[str, list[str]] = {}
        for line in lines[begin:end]:
            if entry := _ENTRY.match(line):
                entries[entry[1]] = []
            entries[next(reversed(entries))].append(line)
        for name, attribute in self.attributes.items():
            entries.setdefault(name, [f"    {name}: {attribute.text}"])
        ordered = [line for name in self._defaults for line in entries[name]]
        errors = [] if "Raises:" in lines else ["", "Raises:", *_ERRORS]
        return "\n".join([*lines[:begin], *ordered, *lines[end:], *errors])


def _evaluated(annotation: Any, names: Mapping[str, Any]) -> Any:
    """Evaluate an annotation. Most are dotted names, which need no slow compiler of Python's."""
    if not isinstance(annotation, str):
        return annotation
    first, *rest = annotation.split(".")
    if first in names and all(part.isidentifier() for part in rest):
        return functools.reduce(getattr, rest, names[first])
    return eval(annotation, dict(names))


def _declared(annotation: Any, kind: type[Any]) -> Any:
    """Return what an annotation declares; None if nothing of this kind."""
    found = getattr(annotation, "__metadata__", ())
    return next((each for each in found if isinstance(each, kind)), None)


def _is_tensor(annotation: Any) -> bool:
    return annotation is relax.Expr or any(map(_is_tensor, get_args(annotation)))


def _is_sequence(annotation: Any) -> bool:
    """Tell whether an operand is declared as several tensors."""
    return any(get_origin(each) is Sequence for each in get_args(annotation))


def _plain(annotation: Any) -> Any:
    return get_args(annotation)[0] if hasattr(annotation, "__metadata__") else annotation
