"""Sums of float32 products in loops: products are rounded, and added one by one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from tvm import tirx
from tvm.script.ir_builder import tirx as T

_MOST = float(np.finfo(np.float32).max)


class Sums:
    """Sums that begin at 0, side by side in memory."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._values = T.alloc_buffer((count,), "float32", scope="global")
        with T.serial(count) as place:
            T.buffer_store(self._values, T.float32(0), [place])

    def __getitem__(self, place: Any) -> Any:
        """Return the sum in a place."""
        return self._values[place]

    def add(self, factor: Any, other: Callable[[Any], Any]) -> None:
        """Add to each sum the product of a factor and the number of its place."""
        with T.serial(self._count) as place:
            total = self._values[place] + rounded(factor * other(place))
            T.buffer_store(self._values, total, [place])


def rounded(product: Any) -> Any:
    """Round a product before a sum, as qnn_ops.rounded does."""
    variable = tirx.Var("product", "float32")
    is_infinite = tirx.abs(variable) > T.float32(_MOST)
    return tirx.Let(variable, product, tirx.Select(is_infinite, variable * 2.0, variable))
