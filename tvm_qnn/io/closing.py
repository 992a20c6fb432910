"""A base class for objects that a ``with`` block closes."""

from abc import ABC, abstractmethod
from typing import TypeVar

T = TypeVar("T", bound="Closing")


class Closing(ABC):
    """An object whose context closes it."""

    @abstractmethod
    def close(self) -> None:
        """Free what the object holds."""

    def __enter__(self: T) -> T:
        """Return the object itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the object."""
        self.close()
