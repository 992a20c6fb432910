"""Tables of rules, and imports of packages whose modules add theirs, so that no list names them."""

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pkgutil import iter_modules
from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Rules(dict[K, V]):
    """Rules by the names of operators."""

    def of(self, *names: K) -> Callable[[V], V]:
        """Decorate the rule of some operators, which enters the table."""

        def decorate(rule: V) -> V:
            self.update(dict.fromkeys(names, rule))
            return rule

        return decorate


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
