"""Packages that import their names at first use.

Importing TVM's compiler takes most of a second and 150 MB. Code that does not need it, such as code
that runs a compiled library, must be able to import these packages without it.
"""

import importlib
import sys
from collections.abc import Mapping
from types import ModuleType
from typing import Any

from qnn_ops.serial import uncollected


class _LazyPackage(ModuleType):
    """A package. Its function hides the module of the same name that contains the function."""

    _homes: Mapping[str, tuple[str, ...]]

    def __getattr__(self, name: str) -> Any:
        if name == "_homes" or name not in self._homes:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        homes = self._homes[name]
        try:
            with uncollected():
                modules = [importlib.import_module(home) for home in homes]
        except ModuleNotFoundError as error:
            if not any(f"{home}.".startswith(f"{error.name}.") for home in homes):
                raise
            raise ImportError(
                f"{self.__name__}.{name} is not in tvm-qnn-runtime: pip install tvm-qnn"
            ) from error
        value = next(getattr(each, name) for each in reversed(modules) if hasattr(each, name))
        setattr(self, name, value)
        return value

    def __setattr__(self, name: str, value: Any) -> None:
        # Every import of a submodule sets it as an attribute of the package.
        if name != "_homes" and isinstance(value, ModuleType) and name in self._homes:
            value = getattr(value, name)
        super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self._homes})


def make_lazy(package: str, homes: Mapping[str, tuple[str, ...]]) -> None:
    """Let a package import its names at their first use.

    Args:
        package: its ``__name__``.
        homes: for each name the modules to import, in order. The last one with the name counts.
    """
    module = sys.modules[package]
    module.__class__ = _LazyPackage
    module._homes = homes  # type: ignore[attr-defined]
