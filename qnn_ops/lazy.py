"""Packages that import their names at first use.

Importing TVM's compiler takes most of a second and 150 MB. Code that does not need it, such as code
that runs a compiled library, must be able to import these packages without it.
"""

import ast
import importlib
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import ModuleType
from typing import Any

from qnn_ops.serial import uncollected


class _LazyPackage(ModuleType):
    """A package. Its function hides the module of the same name that contains the function."""

    _homes: Mapping[str, tuple[str, ...]]

    def __getattr__(self, name: str) -> Any:
        if name not in self._homes:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        homes = self._homes[name]
        try:
            with uncollected():
                modules = [importlib.import_module(home) for home in homes]
        except ModuleNotFoundError as error:
            if error.name not in homes:
                raise
            raise ImportError(
                f"{self.__name__}.{name} is not in tvm-qnn-runtime: pip install tvm-qnn"
            ) from error
        value = next(getattr(each, name) for each in reversed(modules) if hasattr(each, name))
        setattr(self, name, value)
        return value

    def __setattr__(self, name: str, value: Any) -> None:
        # Every import of a submodule sets it as an attribute of the package.
        if isinstance(value, ModuleType) and name in self._homes:
            value = getattr(value, name)
        super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self._homes})


Before = Callable[[str, str], Sequence[str]]
"""Returns the modules to import before a name's own one, from the name and that module."""


def make_lazy(package: str, before: Before = lambda _name, _home: ()) -> None:
    """Let a package import its names at their first use.

    The imports for type checkers in the package's file state the names, and the module of each. The
    names become the package's ``__all__``.

    Args:
        package: its ``__name__``.
        before: the modules to import before a name's own one.
    """
    module: Any = sys.modules[package]
    module._homes = {name: (*before(name, home), home) for name, home in _stated(package)}
    module.__all__ = sorted(module._homes)
    module.__class__ = _LazyPackage


def _stated(package: str) -> Iterator[tuple[str, str]]:
    """Yield the names in a file's block ``if TYPE_CHECKING``, each with its module."""
    spec: Any = sys.modules[package].__spec__
    for block in ast.parse(spec.loader.get_source(package)).body:
        if not isinstance(block, ast.If) or ast.unparse(block.test) != "TYPE_CHECKING":
            continue
        for statement in block.body:
            if isinstance(statement, ast.ImportFrom) and (home := statement.module):
                names = [each.name for each in statement.names]
                names = importlib.import_module(home).__all__ if names == ["*"] else names
                yield from ((name, home) for name in names)
