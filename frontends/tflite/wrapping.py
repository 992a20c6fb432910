"""Sums that leave int32, and wrap in LiteRT's builds: computed as they are, with a warning."""

from __future__ import annotations

import warnings
from collections.abc import Sequence


class WrappingSumsWarning(UserWarning):
    """Sums of products can leave int32; what comes of them is no answer a model was made for."""


def warn_of_wrapping(found: Sequence[tuple[str, str]]) -> None:
    """Warn the caller of the importer once about a model.

    Args:
        found: for each operator whose sums can wrap: which it is, and how far they go.
    """
    (where, reached), *others = found
    more = f"; {len(others)} more operators have such sums" if others else ""
    warnings.warn(
        f"{where}: {reached}: it wraps, as in LiteRT's builds, where data is that extreme{more}",
        WrappingSumsWarning,
        stacklevel=5,
    )
