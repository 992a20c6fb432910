from legalize import lower
from tests.support.tiles import network
from tvm_qnn.profile.lowered import LoweredCall, assign, candidates, functions_on_tiles
from tvm_qnn.target.target import parse_target

LOWERED = [
    LoweredCall("stage", 0),
    LoweredCall("conv2d", 0),
    LoweredCall(None, 1),
    LoweredCall(None, 1),
    LoweredCall("conv2d", 2),
    LoweredCall(None, 2),
    LoweredCall(None, 3),
    LoweredCall(None, None),
]


def test_what_may_belong_to_several_operators_belongs_to_none() -> None:
    calls = ["stage", "conv2d", "fused_add", "max", "conv2d"]
    assert assign(calls, LOWERED) == [0, 0, 1, 1, 2]
    calls = ["stage", "conv2d", "conv2d", "fused_cast_add"]
    assert assign(calls, LOWERED) == [0, 0, 2, None]
    calls = ["stage", "conv2d", "max", "conv2d", "fused_cast_add"]
    assert candidates(calls, LOWERED) == [{0}, {0}, {1}, {2}, {2, 3, None}]
    assert candidates(["other"], LOWERED) == [set()]
    assert assign(["conv2d", "stage", "fused_add", "conv2d"], LOWERED) == [None] * 4
    assert assign(["stage", "conv2d"], LOWERED) == [None] * 2
    assert assign(["f", "g"], [LoweredCall(None, 4)]) == [4, 4]
    assert assign(["f", "g"], [LoweredCall(None, 4), LoweredCall(None, 5)]) == [None, None]
    assert assign(["f"], []) == [None]


def test_kernels_on_tiles_are_told_from_others() -> None:
    mod = network()
    assert functions_on_tiles(lower(mod, parse_target("x86-amx"))) == {"z_conv2d"}
    assert functions_on_tiles(lower(mod, parse_target("x86-avx512-vnni"))) == set()
