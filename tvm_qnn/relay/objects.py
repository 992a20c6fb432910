"""Names that Relay's objects had, on the classes of today's TVM.

Importing ``tvm_qnn.relay`` adds them; it replaces no name that TVM has.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

import tvm
from tvm import relax

from tvm_qnn.relay.expr import is_untyped, typed


def _checked_type(expr: relax.Expr) -> Any:
    """Return the type of an expression."""
    return typed(expr).ty if is_untyped(expr) else expr.ty


def _astext(mod: tvm.IRModule, *_options: Any, **_named: Any) -> str:
    """Return the module as TVMScript: Relay's text has no reader any more."""
    return str(mod.script())


_NAMES: tuple[tuple[type, str, Any], ...] = (
    (relax.Expr, "checked_type", property(_checked_type)),
    (relax.Var, "type_annotation", property(_checked_type)),
    (relax.Var, "name_hint", property(lambda variable: variable.name)),
    (tvm.runtime.Tensor, "asnumpy", tvm.runtime.Tensor.numpy),
    (tvm.ir.GenericConst, "data", property(lambda constant: constant.value)),
    (tvm.IRModule, "astext", _astext),
    (relax.Function, "astext", _astext),
)


def add_names() -> None:
    """Add the names to TVM's classes."""
    for owner, name, value in _NAMES:
        if not hasattr(owner, name):
            setattr(owner, name, value)


class Named:
    """A class of today's TVM that is called as Relay's was; ``isinstance`` knows its objects."""

    def __init__(self, own: type, make: Callable[..., Any], **names: Any) -> None:
        """Describe it.

        Args:
            own: the class.
            make: makes an object, with the arguments that Relay's class took.
            **names: what Relay's class had, and this one has not.
        """
        self.own, self.make = own, make
        vars(self).update(names)

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Make an object."""
        return self.make(*arguments, **named)

    def __instancecheck__(self, instance: Any) -> bool:
        """Tell whether something is an object of the class."""
        return isinstance(instance, self.own)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.own, name)


class Overlay(SimpleNamespace):
    """Some modules as one, with names of its own before theirs."""

    def __init__(self, *bases: ModuleType, **names: Any) -> None:
        """Describe it.

        Args:
            *bases: the modules; a name is taken from the first that has it.
            **names: what is found before theirs.
        """
        super().__init__(**names)
        self._bases = bases

    def __getattr__(self, name: str) -> Any:
        for base in self._bases:
            try:
                return getattr(base, name)
            except AttributeError:  # perhaps a submodule that nobody has imported yet
                path = f"{base.__name__}.{name}"
            try:
                return importlib.import_module(path)
            except ModuleNotFoundError:
                continue
        raise AttributeError(f"{self._bases[0].__name__} has no {name}")
