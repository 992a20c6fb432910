"""Products of matrices on ARM; see x86.py."""

from dataclasses import replace
from functools import cache, partial
from typing import Any

import numpy as np
from tvm import tirx
from tvm.script.ir_builder import tirx as T

from legalize.kernels.conv2d.arm.epilogue import choose_epilogue
from legalize.kernels.conv2d.arm.kernel import ArmKernel
from legalize.kernels.conv2d.arm.pack import in_vectors
from legalize.kernels.conv2d.arm.pixel_sums import window_sum
from legalize.kernels.conv2d.arm.runs import k_step_bytes
from legalize.kernels.conv2d.arm.tiling import choose_tiling, vectors_of
from legalize.kernels.conv2d.constants import window_sums
from legalize.kernels.ir.tables import Tables
from legalize.kernels.ir.vectors import Array, Buffer, Index, Vector, get_lanes, set_lanes
from legalize.kernels.isa.arm import Isa, LongProducts
from legalize.kernels.isa.neon import LANES
from legalize.kernels.matmul.pack import SIDE, SQUARE, Layout
from legalize.kernels.matmul.rows import ProductLoops, staged
from legalize.kernels.matmul.spec import MatmulCall, MatmulSpec
from legalize.written import flat


def matmul(call: MatmulCall, isa: Isa) -> tuple[tirx.PrimFunc, tuple[Array, ...]]:
    """Return the function of a product on an instruction set, and the constants that it takes."""
    spec = call.spec
    dense = spec.dense("int8")
    if isinstance(isa, LongProducts):
        isa = replace(isa, has_sums_of_two=False)
    tiling = choose_tiling(dense, isa)
    chosen = choose_epilogue(dense.output, call.multiplier, call.shift)
    constant = spec.depth * dense.staged_zero_point * spec.signed_zero_point
    addends = (call.bias.astype(np.int64) + constant).astype(np.int32)
    function = _function(spec, spec.all_rows(dense), isa, chosen.epilogue, tiling)
    rows = (in_vectors(dense, row) for row in chosen.rows)
    return function, (in_vectors(dense, addends), *rows)


@cache
def _function(spec: MatmulSpec, *dense: Any) -> tirx.PrimFunc:
    """Build a function of lhs, rhs, the constants and the result; ``dense`` is for all rows."""
    return _Kernel(spec, *dense).build(has_sums=spec.signed_zero_point != 0)


class _Kernel(ProductLoops, ArmKernel):
    """The buffers of one function, and the writer of its loops."""

    def __init__(self, matmul: MatmulSpec, *dense: Any) -> None:
        super().__init__(*dense)
        self.matmul = matmul
        if matmul.batches == 1:
            self.tasks = 1

    def _declare(self, *, has_sums: bool) -> None:
        matmul, spec = self.matmul, self.spec
        self.tables = Tables()
        lhs = T.arg("lhs", T.buffer(matmul.lhs_shape, matmul.lhs_dtype))
        rhs = T.arg("rhs", T.buffer(matmul.rhs_shape, matmul.rhs_dtype))
        vectors = vectors_of(spec)
        self.addends = self.tables.parameter("addends", (vectors, LANES), "int32")
        self.rows = self.epilogue.declare(self.tables, vectors)
        output = T.arg("output", T.buffer(matmul.out_shape, spec.output.dtype))
        self.tables.flatten()
        self.source = staged(lhs, spec, self.tasks)
        self.rhs, self.target = flat(rhs), flat(output)
        self.sums = None
        if has_sums:
            point = [T.int32(matmul.signed_zero_point)]
            window = partial(window_sum, spec, self.isa, self.source)
            self.sums = window_sums(spec, window, point, self.tasks)

    def _layout(self) -> Layout:
        return Layout(self.tiling, LANES, k_step_bytes(self.spec.run_length, self.isa))

    def _store(self, square: Vector, start: Index, _place: Index) -> None:
        """Write a square in the order of the products."""
        order = self.isa.order(np.arange(SQUARE, dtype=np.int8).reshape(LANES, SIDE))
        value = T.Shuffle([square], order.ravel().tolist())
        T.buffer_store(self.weights, value, [T.ramp(start, 1, SQUARE)])

    def _addends(self, place: tuple[Index, Index]) -> Vector:
        return self.addends[place]

    def _ones(self) -> Vector:
        return self.isa.operands([T.broadcast(T.int8(1), SIDE)])[0]

    def _add_weights(self, total: Buffer, ones: Vector, place: Index) -> None:
        weights = self.weights[T.ramp(place, 1, SQUARE)]
        set_lanes(total, self.isa.multiply_add(get_lanes(total), ones, weights))
