"""Adds names that Relay's objects had to the classes of today's TVM.

Importing ``tvm_qnn.relay`` adds them. It replaces none of TVM's names.
"""

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
    """Return the module as TVMScript: nothing can read Relay's text any more."""
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
    """A class of today's TVM with Relay's constructor; ``isinstance`` recognizes its objects."""

    def __init__(self, own: type, make: Callable[..., Any], **names: Any) -> None:
        """Describe the class.

        Args:
            own: the class.
            make: makes an object from the arguments of Relay's class.
            **names: members of Relay's class that today's class does not have.
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
    """Several modules as one, with names of its own that have priority."""

    def __init__(self, *bases: ModuleType, **names: Any) -> None:
        """Combine modules.

        Args:
            *bases: the modules; a name is taken from the first module that has it.
            **names: names with priority over the modules'.
        """
        super().__init__(**names)
        self._bases = bases

    def __getattr__(self, name: str) -> Any:
        for base in self._bases:
            try:
                return getattr(base, name)
            except AttributeError:  # perhaps a submodule that is not imported yet
                path = f"{base.__name__}.{name}"
            try:
                return importlib.import_module(path)
            except ModuleNotFoundError:
                continue
        raise AttributeError(f"{self._bases[0].__name__} has no {name}")
