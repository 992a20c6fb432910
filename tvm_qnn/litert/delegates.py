"""LiteRT's delegates: calls that load one are refused."""

from collections.abc import Mapping
from typing import Any

from qnn_ops.errors import QnnError

REASON = (
    "tvm_qnn compiles the whole model for the processor and gives no part of it to a delegate; "
    "leave the delegate out"
)


class Delegate:
    """A delegate of LiteRT. None can be made here."""

    def __init__(self, library: str, options: Mapping[str, Any] | None = None) -> None:
        """Refuse to load one.

        Raises:
            QnnError: always.
        """
        del options
        raise QnnError(f"Failed to load delegate from {library}\n{REASON}")


def load_delegate(library: str, options: Mapping[str, Any] | None = None) -> Delegate:
    """Refuse to load a delegate.

    Programs that catch LiteRT's ValueError then run without a delegate.

    Args:
        library: the name of the delegate's shared library.
        options: the delegate's options.

    Raises:
        QnnError: always.
    """
    return Delegate(library, options)
