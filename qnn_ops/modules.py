"""Packages whose modules register themselves, so that no list names them."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from pkgutil import iter_modules


def modules_of(package: str) -> list[str]:
    """Return the names of a package's modules, in their order, without importing them."""
    spec = find_spec(package)
    paths = spec.submodule_search_locations if spec else None
    return [f"{package}.{module.name}" for module in iter_modules(paths or [])]


def import_modules(package: str) -> None:
    """Import every module of a package, in the order of their names.

    Args:
        package: its ``__name__``.
    """
    for name in modules_of(package):
        import_module(name)
