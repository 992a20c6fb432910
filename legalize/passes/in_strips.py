"""Compute the layers of a stem strip by strip, so that memory never holds their whole images."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import tvm
from tvm import relax
from tvm.relax.expr_functor import mutator

from legalize.image_rows import join_rows, take_rows
from legalize.passes.rewriter import CallRewriter, module_pass
from legalize.passes.stems import Rows, Stem, stems_of
from qnn_ops.dialect.registry import with_attrs


@dataclass(frozen=True)
class Strips:
    """Which layers are computed in strips.

    Attributes:
        stem: the stem's number among the function's stems.
        rows: rows of the stem's result in a strip.
    """

    stem: int
    rows: int


Choice: TypeAlias = "Callable[[relax.Function, Sequence[Stem]], Strips | None]"
"""Chooses one of a function's stems, or none."""


def InStrips(choose: Choice) -> tvm.transform.Pass:
    """Let the layers of one stem run in strips: each computes some rows of its result.

    A strip computes all rows that its own rows depend on, from the rows of the source. If several
    strips depend on the same rows of an intermediate image, each computes them anew. Every value is
    computed from the same values as before.
    """

    @mutator
    class _InStrips(CallRewriter):
        def enter(self, function: relax.Function) -> bool:
            stems = stems_of(function)
            self.strips = choose(function, stems)
            self.stem = None if self.strips is None else stems[self.strips.stem]
            return self.stem is not None

        def visit_call_(self, call: relax.Call) -> relax.Expr:
            if self.stem is None or not call.same_as(self.stem.layers[self.stem.result]):
                return super().visit_call_(call)
            assert self.strips is not None
            source = self.visit_expr(self.stem.source)
            parts = [
                self._strip(self.stem, rows, source) for rows in self.stem.strips(self.strips.rows)
            ]
            return join_rows(self.builder_, parts)

        def _strip(
            self, stem: Stem, rows: Mapping[relax.Var, Rows], source: relax.Expr
        ) -> relax.Expr:
            made = {stem.source: (source, 0)}
            for variable, layer in stem.layers.items():
                window = stem.windows[variable]
                read = window.read(rows[variable])
                images = {}
                for image in stem.images[variable]:
                    whole, first = made[image]
                    count = read[1] - read[0]
                    images[image] = take_rows(self.builder_, whole, read[0] - first, count)
                operands = [images.get(each, each) for each in layer.args]
                changed = with_attrs(layer, **window.attributes(rows[variable]))
                part = self.builder_.emit(relax.Call(layer.op, operands, changed.attrs))
                made[variable] = part, rows[variable][0]
            return made[stem.result][0]

    return module_pass(_InStrips, "InStrips")
