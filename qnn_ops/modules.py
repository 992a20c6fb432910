"""Packages whose modules register themselves, so that no list names them."""

from __future__ import annotations

import sys
from importlib import import_module
from pkgutil import iter_modules


def import_modules(package: str) -> None:
    """Import every module of a package and its folders, in the order of their names.

    Args:
        package: its ``__name__``, while it is imported itself.
    """
    for module in iter_modules(sys.modules[package].__path__):
        import_module(name := f"{package}.{module.name}")
        if module.ispkg:
            import_modules(name)
