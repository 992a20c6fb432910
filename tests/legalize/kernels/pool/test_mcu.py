from pathlib import Path
from typing import Any

import numpy as np
import pytest

from qnn_ops import quantized_pool2d
from tests.support import mcu
from tests.support.arrays import full_range
from tests.support.kernels import Call, Place, check_calls, kernels_of, lowered
from tvm_qnn.standalone.functions import compile_functions
from tvm_qnn.target.target import parse_target

# Shape of the data, window, strides, padding.
POOLS = [
    ((1, 25, 5, 64), (25, 5), (25, 5), (0, 0, 0, 0)),
    ((2, 8, 9, 12), (3, 2), (2, 3), (1, 0, 2, 1)),
    ((1, 6, 6, 3), (2, 2), (2, 2), (0, 0, 0, 0)),
    ((1, 30, 20, 16), (30, 20), (1, 1), (0, 0, 0, 0)),
    ((1, 16, 16, 8), (15, 17), (1, 1), (2, 3, 1, 2)),
    ((1, 3, 3, 24), (3, 3), (3, 3), (1, 1, 1, 1)),
]


def calls() -> list[Call]:
    rng = np.random.default_rng(5)
    found = []
    for shape, window, strides, padding in POOLS:
        for dtype, origin in (("int8", 0), ("uint8", 128), ("int8", -128), ("uint8", 0)):
            attrs: dict[str, Any] = {"pool_type": "avg", "pool_size": window, "strides": strides}
            attrs |= {"padding": padding, "layout": "NHWC", "origin": origin}
            if rng.random() < 0.3:
                low = int(np.iinfo(dtype).min)
                attrs |= {"out_min": low + 100, "out_max": low + 140}
            data = full_range(rng, dtype, shape)
            # Sums of extremes, and many ties, too.
            extreme = np.iinfo(dtype).max if rng.random() < 0.5 else np.iinfo(dtype).min
            found += [
                Call(quantized_pool2d, [each], attrs)
                for each in (data, np.full_like(data, extreme), (data & 1).astype(dtype))
            ]
    return found


@mcu.emulated
@pytest.mark.parametrize("core", ["cortex-m4", "cortex-m55"])
def test_averages_equal_the_reference(core: str, tmp_path: Path) -> None:
    def run(cases: Any) -> Any:
        return mcu.run_cases(core, cases, tmp_path)

    check_calls(Place(core, parse_target(core), (), run), calls())


@pytest.mark.parametrize(
    ("core", "instruction"), [("cortex-m4", "sxtab16"), ("cortex-m55", "vldrb.s16")]
)
def test_a_core_adds_some_channels_at_a_time(core: str, instruction: str) -> None:
    (function,) = kernels_of(lowered(calls()[0], parse_target(core)))
    compiled = compile_functions({"average": function}, {"average": "m"}, parse_target(core))
    assembly = str(compiled.module.inspect_source("asm"))
    assert instruction in assembly
    assert "__aeabi" not in assembly


@pytest.mark.parametrize(
    "attrs",
    [{"pool_type": "max"}, {"rounding": "half_even"}, {"padding": 1, "count_include_pad": True}],
)
def test_other_poolings_are_left_to_the_primitives(attrs: dict[str, Any]) -> None:
    given = {"pool_type": "avg", "pool_size": 2, "layout": "NHWC", **attrs}
    call = Call(quantized_pool2d, [np.zeros((1, 4, 4, 4), np.int8)], given)
    assert not kernels_of(lowered(call, parse_target("cortex-m4")))
