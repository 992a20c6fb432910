"""Imports of packages whose modules register themselves, so that no list names them."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from pkgutil import iter_modules


def modules_of(package: str) -> list[str]:
    """Return the names of all modules in a package and its folders, without importing them."""
    spec = find_spec(package)
    found = []
    for module in iter_modules(spec.submodule_search_locations if spec else ()):
        found.append(name := f"{package}.{module.name}")
        found += modules_of(name) if module.ispkg else []
    return found


def import_modules(package: str) -> None:
    """Import every module of a package and its folders, in the order of their names.

    Args:
        package: its ``__name__``.
    """
    for name in modules_of(package):
        import_module(name)
