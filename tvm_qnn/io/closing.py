"""Objects that are closed at the end of a ``with`` block."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TypeVar

T = TypeVar("T", bound="Closing")


class Closing(ABC):
    """An object whose context closes it."""

    @abstractmethod
    def close(self) -> None:
        """Give back what the object holds."""

    def __enter__(self: T) -> T:
        """Return the object itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()
