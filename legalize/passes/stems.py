"""Finds the layers of a network that strips can compute, and the rows that strips read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
from tvm import relax

from qnn_ops import quantized_conv2d, quantized_pool2d, requantize
from qnn_ops.dialect.registry import Attrs, Operator, attrs_of, constant_of, operator_of, spec_of

Rows = tuple[int, int]
"""The first row and the end of the rows of an image."""

_ROWS = 1  # the axis


@dataclass(frozen=True, eq=False)
class Stem:
    """The layers from one image to another. Nothing else reads the images between them.

    Attributes:
        source: the image that the first layers read.
        layers: the calls by the variable of their result, in order; the last result is the stem's.
    """

    source: relax.Var
    layers: Mapping[relax.Var, relax.Call]

    @cached_property
    def result(self) -> relax.Var:
        """The result of the last layer."""
        return [*self.layers][-1]

    @property
    def height(self) -> int:
        """The rows of the result."""
        return spec_of(self.result).shape[_ROWS]

    @cached_property
    def windows(self) -> dict[relax.Var, Window]:
        """The windows of the layers by the variable of their result."""
        return {variable: _window_of(call) for variable, call in self.layers.items()}

    @cached_property
    def images(self) -> dict[relax.Var, list[relax.Var]]:
        """The images that layers read, by the variable of their result."""
        return {variable: images_of(call) for variable, call in self.layers.items()}

    def strips(self, rows: int) -> list[dict[relax.Var, Rows]]:
        """Return the rows of all images that each strip of the result depends on.

        Args:
            rows: rows of a strip; the last one may have fewer.
        """
        return [
            self._needed((first, min(first + rows, self.height)))
            for first in range(0, self.height, rows)
        ]

    def _needed(self, rows: Rows) -> dict[relax.Var, Rows]:
        needed = {self.result: rows}
        for variable in reversed(self.layers):
            read = self.windows[variable].read(needed[variable])
            for image in self.images[variable]:
                known = needed.get(image, read)
                needed[image] = min(known[0], read[0]), max(known[1], read[1])
        return needed

    @cached_property
    def products(self) -> dict[relax.Var, int]:
        """The products of a row of each layer's result."""
        return {variable: _products(call) for variable, call in self.layers.items()}


@dataclass(frozen=True)
class Window:
    """The rows of the data that a row of a layer's result depends on.

    Attributes:
        height: rows of the data.
        extent: rows of the window.
        stride: rows from one window to the next.
        padding: top, left, bottom and right; None for layers without windows.
    """

    height: int
    extent: int = 1
    stride: int = 1
    padding: tuple[int, ...] | None = None

    def read(self, rows: Rows) -> Rows:
        """Return the rows of the data that rows of the result depend on."""
        first, end = self._span(rows)
        return max(first, 0), min(end, self.height)

    def attributes(self, rows: Rows) -> dict[str, Any]:
        """Return the attributes of a call that has these rows of the result."""
        if self.padding is None:
            return {}
        (first, end), (top, bottom) = self._span(rows), self.read(rows)
        _, left, _, right = self.padding
        return {"padding": [top - first, left, end - bottom, right]}

    def _span(self, rows: Rows) -> Rows:
        top = self.padding[0] if self.padding else 0
        return rows[0] * self.stride - top, (rows[1] - 1) * self.stride - top + self.extent


def stems_of(function: relax.Function) -> list[Stem]:
    """Return the stems of a function, of at least two layers.

    Args:
        function: consists of the dialect's operators, with images of layout NHWC.
    """
    calls = {
        binding.var: binding.value
        for block in function.body.blocks
        for binding in block.bindings
        if isinstance(binding.value, relax.Call)
    }
    readers: dict[relax.Var, set[relax.Var]] = {}
    results = set(relax.analysis.free_vars(function.body.body))
    for variable, call in calls.items():
        for read in relax.analysis.free_vars(call):
            readers.setdefault(read, set()).add(variable)
    stems = []
    for variable in calls:
        members = _members(variable, calls)
        sources = {
            image for each in members for image in images_of(calls[each]) if image not in members
        }
        inner = members - {variable}
        is_closed = not inner & results and all(readers[each] <= members for each in inner)
        if len(members) > 1 and len(sources) == 1 and is_closed:
            layers = {each: call for each, call in calls.items() if each in members}
            stems.append(Stem(sources.pop(), layers))
    return stems


def _members(variable: relax.Var, calls: Mapping[relax.Var, relax.Call]) -> set[relax.Var]:
    """Return the layers that lead to a variable, as far back as strips can compute all of them."""
    members: set[relax.Var] = set()
    pending = [variable]
    while pending:
        each = pending.pop()
        if each in members or each not in calls or not _is_served(calls[each]):
            continue
        members.add(each)
        pending += images_of(calls[each])
    return members


def images_of(call: relax.Call) -> list[relax.Var]:
    """Return the operands of a layer that are images."""
    return [operand for operand in call.args if isinstance(operand, relax.Var)]


def _window_of(call: relax.Call) -> Window:
    operator = operator_of(call)
    height = spec_of(images_of(call)[0]).shape[_ROWS]
    if operator not in _EXTENTS:
        return Window(height)
    attrs = attrs_of(call)
    return Window(height, _EXTENTS[operator](attrs, call), attrs.strides[0], attrs.padding)


def _is_served(call: relax.Call) -> bool:
    operator = operator_of(call)
    is_elementwise = operator is not None and operator.elementwise > 0
    if operator not in (*_EXTENTS, requantize) and not is_elementwise:
        return False
    shape = spec_of(call).shape
    images = images_of(call)
    if len(shape) != 4 or shape[0] != 1 or prod(shape) == 0 or not images:
        return False
    attrs = attrs_of(call)
    layouts = (getattr(attrs, name, "NHWC") for name in ("layout", "data_layout", "out_layout"))
    if any(layout != "NHWC" for layout in layouts):
        return False
    if operator in _EXTENTS:
        top, _, bottom, _ = attrs.padding
        # Each row of the result depends on some row of the data.
        return len(images) == 1 and max(top, bottom) < _EXTENTS[operator](attrs, call)
    constants = [constant_of(each) for each in call.args if not isinstance(each, relax.Var)]
    has_no_rows = all(each is not None and _rows_of(each) == 1 for each in constants)
    return has_no_rows and all(spec_of(image).shape == shape for image in images)


def _rows_of(constant: np.ndarray[Any, Any]) -> int:
    return int(constant.shape[-3]) if constant.ndim > 2 else 1


def _products(call: relax.Call) -> int:
    if operator_of(call) is not quantized_conv2d:
        return 0
    return spec_of(call).shape[2] * prod(spec_of(call.args[1]).shape)


def _extent_of_kernel(attrs: Attrs, call: relax.Call) -> int:
    size = spec_of(call.args[1]).shape[attrs.kernel_layout.index("H")]
    return (size - 1) * attrs.dilation[0] + 1


def _extent_of_pool(attrs: Attrs, _call: relax.Call) -> int:
    return int(attrs.pool_size[0])


_EXTENTS: dict[Operator[Any] | None, Callable[[Attrs, relax.Call], int]] = {
    quantized_conv2d: _extent_of_kernel,
    quantized_pool2d: _extent_of_pool,
}
