"""Dense layers of open rows: each run says how many there are.

The tile is chosen for many rows. The remaining rows of a run form a smaller tile, with the same
weights.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from tvm import tirx
from tvm.script.ir_builder import tirx as T

from legalize.kernels.conv2d.plan import Weights
from legalize.kernels.conv2d.spec import ConvSpec
from legalize.kernels.conv2d.tiling import Section, share_tiles
from legalize.kernels.conv2d.x86.dot.kernel import DotKernel
from legalize.kernels.conv2d.x86.dot.plan import DotPlan
from legalize.kernels.conv2d.x86.dot.plan import plan as plan_dot
from legalize.kernels.conv2d.x86.epilogue.base import Epilogue
from legalize.kernels.conv2d.x86.tiling import microseconds
from legalize.kernels.ir.tasks import TASKS_OF_ROWS, TYPICAL_ROWS, fewest_shared
from legalize.kernels.ir.vectors import Index, kept
from legalize.kernels.isa.x86 import Isa
from qnn_ops.dialect.sizes import Size


def plan_rows(spec: ConvSpec, isa: Isa, weights: Weights) -> RowsPlan | None:
    """Plan a dense layer whose number of rows is open; None if the kernel cannot serve it."""
    many = plan_dot(replace(spec, batch=TYPICAL_ROWS), isa, weights, float("inf"))
    if spec.has_asymmetric_kernel and many.products.takes_raw_weights:
        return None  # the sums of rows would need memory of an open size
    own = replace(many.spec, batch=spec.batch)
    return RowsPlan(own, many.products, many.tiling, many.cost, many.taps)


@dataclass(frozen=True)
class RowsPlan(DotPlan):
    """A dense layer of open rows."""

    def kernel(self, epilogue: Epilogue, known: str) -> RowsKernel:
        """Make the writer of a function of weights of a dtype."""
        return RowsKernel(self, epilogue, known)


class RowsKernel(DotKernel):
    """The writer of loops over the rows that a run has."""

    def __init__(self, plan: RowsPlan, epilogue: Epilogue, weight_dtype: str | None = None) -> None:
        """Write a plan's function, with weights of a dtype."""
        super().__init__(plan, epilogue, weight_dtype)
        # The number of rows is a variable of this function alone.
        rows: Any = Size(tirx.Var("rows", "int64"))
        self.spec = replace(plan.spec, batch=rows)

    def _microseconds(self) -> float:
        return microseconds(replace(self.spec, batch=TYPICAL_ROWS), self.products, self.tiling)

    def _share_of(self, section: Section) -> int:
        return 0  # nothing is fetched ahead

    def _loops(self) -> None:
        size: Any = self.spec.batch
        rows = kept(size.expr)
        with T.If(rows < T.int64(fewest_shared(self._microseconds()))):
            with T.Then():
                for section in self.tiling:
                    with T.serial(section.blocks) as block:
                        self._some_rows(section, block, T.int64(0), rows)
            with T.Else(), T.parallel(TASKS_OF_ROWS) as task:
                for section in self.tiling:
                    self._shared_rows(section, task, rows)

    def _shared_rows(self, section: Section, task: Index, rows: Index) -> None:
        """Write one task's loops over a section."""
        tiles = kept(T.truncdiv(rows + (section.mr - 1), T.int64(section.mr)))

        def some_tiles(block: Index, start: Index, stop: Index) -> None:
            first = kept(start * section.mr)
            self._some_rows(section, block, first, kept(T.min(stop * section.mr, rows)))

        share_tiles(section.blocks, tiles, T.Cast("int64", task), TASKS_OF_ROWS, some_tiles)

    def _some_rows(self, section: Section, block: Index, first: Index, stop: Index) -> None:
        """Write the loop over the rows from ``first`` to before ``stop``, if there are any."""
        mr = section.mr
        count = kept(T.max(stop - first, T.int64(0)))
        whole = kept(T.truncdiv(count, T.int64(mr)))
        with T.serial(whole) as tile:
            self._tile(section, block, kept(first + tile * mr))
        rest = kept(count - whole * mr)
        for left in range(1, mr):
            with T.If(rest == T.int64(left)), T.Then():
                self._tile(replace(section, mr=left), block, kept(first + whole * mr))
