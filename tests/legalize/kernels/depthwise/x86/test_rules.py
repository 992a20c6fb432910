"""Depthwise convolutions of the dialect through their kernel."""

from typing import Any

import numpy as np
import pytest
import tvm
from hypothesis import given, settings

from legalize.kernels.isa.x86 import AVX2, AVX512_VNNI, AVX512BW, AVX_VNNI, SSE41, Isa
from qnn_ops import quantized_conv2d
from tests.support.cases import convolutions
from tests.support.encodings import encodings
from tests.support.kernels import Call, check_layer, lowered
from tests.support.x86 import PROCESSORS, each_isa, examples, optimized

TARGETS = {
    isa: tvm.target.Target({"kind": "llvm", "mcpu": mcpu}) for isa, (mcpu, _) in PROCESSORS.items()
}
TENSORS = quantized_conv2d.tensors


def check(operands: list[Any], attrs: dict[str, Any], target: tvm.target.Target) -> None:
    mod = check_layer(Call(quantized_conv2d, operands, attrs), target)
    names = [name.name_hint for name in mod.get_global_vars()]
    has_kernel = np.unique(attrs["kernel_zero_point"]).size == 1
    assert any(name.startswith("z_depthwise_conv2d") for name in names) == has_kernel


@each_isa
def test_equals_the_reference(isa: Isa) -> None:
    count = 12 if isa is AVX512_VNNI else 3

    @settings(max_examples=examples(count, PROCESSORS[isa][0]))
    @given(convolutions(["NHWC"], most_groups=70, is_depthwise=True))
    def equals(case: tuple[list[Any], dict[str, Any]]) -> None:
        check(*case, TARGETS[isa])

    equals()


@pytest.mark.parametrize(
    ("isa", "instruction"),
    [
        (AVX512_VNNI, "vpdpwssd"),
        (AVX_VNNI, "{vex}\tvpdpwssd"),
        (AVX512BW, "vpmaddwd"),
        (AVX2, "vpmaddwd"),
        (SSE41, "pmaddwd"),
    ],
)
def test_code_multiplies_as_the_instruction_set_does(isa: Isa, instruction: str) -> None:
    kernel = np.full((1, 3, 3, 64), 255, np.uint8)
    operands = [np.zeros((1, 8, 8, 64), np.uint8), kernel]
    attrs = encodings(
        input=(0.5, 3),
        kernel=(0.5, 0),
        output=(0.5, 0),
        out_dtype="uint8",
        groups=64,
        data_layout="NHWC",
        kernel_layout="IHWO",
    )
    mod = lowered(Call(quantized_conv2d, operands, attrs), TARGETS[isa], TENSORS[1:])
    (name,) = (n for n in mod.get_global_vars() if n.name_hint.startswith("z_depthwise"))
    library = tvm.compile(
        mod[name].with_attr("global_symbol", "f"), target=optimized(PROCESSORS[isa][0])
    )
    assembly = library.mod.inspect_source("asm")
    assert instruction in assembly
    assert ("vpdp" in assembly) == isa.has_byte_products
    assert ("zmm" in assembly) == (isa.lanes == 16)


@pytest.mark.parametrize("change", [{"groups": 2}, {"groups": 1}])
def test_other_convolutions_are_left_alone(change: dict[str, Any]) -> None:
    attrs = {
        "input_scale": 0.5,
        "input_zero_point": 3,
        "kernel_scale": 0.5,
        "kernel_zero_point": 0,
        "output_scale": 0.5,
        "output_zero_point": 0,
        "out_dtype": "uint8",
        "data_layout": "NHWC",
        "kernel_layout": "OHWI",
        **change,
    }
    kernel = np.zeros((8, 3, 3, 8 // change["groups"]), np.uint8)
    call = Call(quantized_conv2d, [np.zeros((1, 8, 8, 8), np.uint8), kernel], attrs)
    mod = lowered(call, TARGETS[AVX512_VNNI], TENSORS[1:])
    assert not [n for n in mod.get_global_vars() if n.name_hint.startswith("z_depthwise")]
