from pathlib import Path
from typing import Any

import numpy as np
import pytest

from legalize.kernels.softmax.mcu import short_table
from qnn_ops import quantized_softmax
from qnn_ops.tables.softmax import exp_table, sum_term
from tests.legalize.kernels.softmax.test_rules import ATTRS, random_softmax
from tests.support import mcu
from tests.support.kernels import Call, Place, check_calls, kernels_of, lowered
from tvm_qnn.target.target import parse_target

SHAPES = [(1, 1), (1, 2), (3, 4, 5), (1, 12), (2, 127), (1, 2048)]


@mcu.emulated
@pytest.mark.parametrize("core", ["cortex-m4", "cortex-m55"])
def test_the_kernel_equals_the_reference(core: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    calls = [
        random_softmax(rng, shape, two) for shape in SHAPES for two in (False, True) for _ in "ab"
    ]
    # Every distance.
    for scale in (0.01, 0.15, 2.0):
        data = np.stack([np.full(256, 127), 127 - np.arange(256)], 1).astype(np.int8)
        calls.append(Call(quantized_softmax, [data], {**ATTRS, "input_scale": scale}))

    def run(cases: Any) -> Any:
        return mcu.run_cases(core, cases, tmp_path)

    check_calls(Place(core, parse_target(core), (), run), calls)


@pytest.mark.parametrize("scale", [0.01, 0.1447, 3.0, 40.0])
def test_the_table_ends_where_nothing_counts(scale: float) -> None:
    table = exp_table(scale, 1.0)
    short = short_table(table)
    assert sum_term(short).tolist() == [*sum_term(table)[: len(short) - 1].tolist(), 0]
    assert not sum_term(table)[len(short) - 1 :].any()
    assert len(short) == 2 or sum_term(short[-2:-1]).item() > 0


@pytest.mark.parametrize("core", ["cortex-m0plus", "cortex-m4", "cortex-m55", "riscv32"])
def test_one_function_of_a_short_table(core: str) -> None:
    call = Call(quantized_softmax, [np.zeros((1, 12), np.int8)], {**ATTRS, "input_scale": 0.1447})
    mod = lowered(call, parse_target(core))
    assert len(kernels_of(mod)) == 1
    assert "int64" not in str(mod["main"])


def test_other_axes_are_left_to_the_primitives() -> None:
    call = Call(quantized_softmax, [np.zeros((4, 5), np.int8)], {**ATTRS, "axis": 0})
    assert not kernels_of(lowered(call, parse_target("cortex-m4")))
