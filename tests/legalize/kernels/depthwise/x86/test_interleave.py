import numpy as np
import pytest
from tvm.script.ir_builder import IRBuilder
from tvm.script.ir_builder import tirx as T

from legalize.kernels.depthwise.x86.interleave import interleave
from tests.support.arrays import full_range
from tests.support.x86 import needs_vnni, run


@needs_vnni
@pytest.mark.parametrize("size", [16, 32, 64])
@pytest.mark.parametrize("taps", [2, 4])
def test_planes_hold_the_rows_of_every_position(size: int, taps: int) -> None:
    rows = full_range(np.random.default_rng(0), "uint8", (taps, size))
    with IRBuilder() as builder, T.prim_func(s_tir=True):
        T.func_name("interleave")
        T.func_attr({"global_symbol": "interleave"})
        data = T.arg("data", T.buffer((taps, size), "uint8"))
        output = T.arg("output", T.buffer((4, size), "uint8"))
        vectors = [data[row, T.ramp(0, 1, size)] for row in range(taps)]
        for plane, value in enumerate(interleave(vectors)):
            T.buffer_store(output, value, [plane, T.ramp(0, 1, size)])
    planes = run(builder.get(), [rows], (4, size), "uint8")
    # [planes, quarters, positions, taps]
    cells = planes.view("uint8" if taps == 4 else "<u2").reshape(4, size // 16, 4, taps)
    for position in range(size):
        quarter, rest = divmod(position, 16)
        plane, place = divmod(rest, 4)
        np.testing.assert_array_equal(cells[plane, quarter, place], rows[:, position])
