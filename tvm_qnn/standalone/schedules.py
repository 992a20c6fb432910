"""Estimates the memory of a network with some of its layers in strips."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, prod

import numpy as np
from tvm import relax

from legalize.passes.in_strips import Strips
from legalize.passes.stems import Rows, Stem

# The numbers of strips into which a result is cut, beside strips of a single row.
_COUNTS = (2, 3, 4, 5, 6, 8, 10, 12, 16, 24, 32, 48, 64)


@dataclass(frozen=True)
class Schedule:
    """Layers in strips.

    Attributes:
        strips: the layers, and the rows of their strips.
        count: the number of strips.
        layers: the number of layers in strips.
        products: the number of products that are computed more than once.
        estimate: the least bytes of memory that the network takes.
    """

    strips: Strips
    count: int
    layers: int
    products: int
    estimate: int


def schedules(function: relax.Function, stems: Sequence[Stem]) -> Iterator[Schedule]:
    """Yield schedules of a function.

    Args:
        function: a function of the dialect's operators.
        stems: the function's stems.
    """
    network = _Network(function)
    for number, stem in enumerate(stems):
        beside = network.peak(without=stem)
        for rows in sorted({ceil(stem.height / count) for count in (*_COUNTS, stem.height)}):
            if rows < stem.height:
                strips = stem.strips(rows)
                estimate = max(beside, network.peak_of(stem, strips))
                products = _products(stem, strips) - sum(
                    count * _height(variable) for variable, count in stem.products.items()
                )
                yield Schedule(
                    Strips(number, rows), len(strips), len(stem.layers), products, estimate
                )


def peak(function: relax.Function) -> int:
    """Estimate the bytes of memory of a function without strips."""
    return _Network(function).peak()


def _products(stem: Stem, strips: Sequence[Mapping[relax.Var, Rows]]) -> int:
    return sum(
        count * (strip[variable][1] - strip[variable][0])
        for strip in strips
        for variable, count in stem.products.items()
    )


class _Network:
    """The tensors of a function, and the steps at which they live."""

    def __init__(self, function: relax.Function) -> None:
        bindings = [binding for block in function.body.blocks for binding in block.bindings]
        self.reads = {binding.var: relax.analysis.free_vars(binding.value) for binding in bindings}
        self.steps = {variable: step for step, variable in enumerate(self.reads)}
        self.last = dict(self.steps)
        for variable, read in self.reads.items():
            self.last |= dict.fromkeys(read, self.steps[variable])
        ends = relax.analysis.free_vars(function.body.body)
        self.last |= dict.fromkeys(ends, len(self.steps))
        self.sizes = {variable: _size(variable) for variable in self.last}

    def peak(self, without: Stem | None = None) -> int:
        """Return the most bytes at any step outside of a stem."""
        inner = set() if without is None else {*without.layers}
        used = [
            self._living(step) - self._shared(variable, step)
            for variable, step in self.steps.items()
            if variable not in inner
        ]
        return max(used, default=0)

    def _living(self, step: int, without: frozenset[relax.Var] = frozenset()) -> int:
        return sum(
            size
            for variable, size in self.sizes.items()
            if self.steps.get(variable, 0) <= step <= self.last[variable]
            and variable not in without
        )

    def _shared(self, variable: relax.Var, step: int) -> int:
        """Return the bytes by which a result may overlap a tensor that is read here last."""
        dying = [self.sizes[each] for each in self.reads[variable] if self.last[each] == step]
        return min(self.sizes[variable], max(dying, default=0))

    def peak_of(self, stem: Stem, strips: Sequence[Mapping[relax.Var, Rows]]) -> int:
        """Return the most bytes while a stem runs in strips."""
        steps = [self.steps[variable] for variable in stem.layers]
        images = frozenset({stem.source, *stem.layers})
        beside = max(self._living(step, images) for step in steps)
        is_read_later = self.last[stem.source] > max(steps)
        pitch = {variable: self.sizes[variable] // _height(variable) for variable in images}
        most = 0
        for strip in strips:
            begin = 0 if is_read_later else strip[stem.source][0]
            rest = self.sizes[stem.source] - begin * pitch[stem.source]
            done = strip[stem.result][1] * pitch[stem.result]
            sizes = {
                variable: (strip[variable][1] - strip[variable][0]) * pitch[variable]
                for variable in stem.layers
            }
            most = max(most, beside + rest + done + self._inner(stem, sizes))
        return most

    def _inner(self, stem: Stem, sizes: Mapping[relax.Var, int]) -> int:
        """Return the most bytes of a strip's tensors between the source and the result."""
        most = 0
        inner = {variable for variable in stem.layers if variable != stem.result}
        for variable, images in stem.images.items():
            step = self.steps[variable]
            total = sum(
                sizes[other] for other in inner if self.steps[other] <= step <= self.last[other]
            )
            if variable in inner:
                dying = [
                    sizes[each] for each in images if each in inner and self.last[each] == step
                ]
                total -= min(sizes[variable], max(dying, default=0))
            most = max(most, total)
        return most


def _height(variable: relax.Var) -> int:
    return int(variable.ty.shape.values[1])


def _size(variable: relax.Var) -> int:
    ty = variable.ty
    if not isinstance(ty, relax.TensorType) or ty.shape is None:
        return 0
    return prod(map(int, ty.shape.values)) * np.dtype(str(ty.dtype)).itemsize
