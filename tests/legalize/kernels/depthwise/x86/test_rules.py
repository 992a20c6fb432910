"""Depthwise convolutions of the dialect through their kernel."""

from typing import Any

import numpy as np
import pytest
import tvm
from hypothesis import given, settings
from hypothesis import strategies as st

from legalize.kernels.isa.x86 import AVX2, AVX512_VNNI, AVX512BW, AVX_VNNI, SSE41, Isa
from qnn_ops import quantized_conv2d
from qnn_ops.arrays import Array
from qnn_ops.dialect.layouts import permutation
from tests.support.arrays import full_range
from tests.support.encodings import encodings
from tests.support.kernels import Call, check_layer, lowered
from tests.support.x86 import PROCESSORS, each_isa, examples, optimized

TARGETS = {
    isa: tvm.target.Target({"kind": "llvm", "mcpu": mcpu}) for isa, (mcpu, _) in PROCESSORS.items()
}
TENSORS = quantized_conv2d.tensors


sizes = st.integers(1, 3)
pads = st.integers(0, 2)
dtypes = st.sampled_from(["uint8", "int8"])
channel_counts = st.sampled_from([2, 3, 8, 13, 16, 17, 24, 32, 64, 70])


@st.composite
def depthwise(draw: st.DrawFn) -> tuple[list[Any], dict[str, Any]]:
    """Operands and attributes of a depthwise convolution."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    in_dtype, kernel_dtype, out_dtype = draw(dtypes), draw(dtypes), draw(dtypes)
    channels, multiplier = draw(channel_counts), draw(st.sampled_from([1, 1, 1, 2, 3]))
    window = draw(st.one_of(st.tuples(sizes, sizes), st.just((3, 3)), st.just((5, 5))))
    dilation, padding = draw(st.tuples(sizes, sizes)), draw(st.tuples(pads, pads, pads, pads))
    reach = [d * (k - 1) + 1 for d, k in zip(dilation, window, strict=True)]
    least = [max(1, reach[i] - padding[i] - padding[i + 2]) for i in range(2)]
    height, width = (draw(st.integers(size, size + 9)) for size in least)
    how = draw(st.sampled_from(["random", "ends"]))

    def values(dtype: str, shape: tuple[int, ...]) -> Array:
        info = np.iinfo(dtype)
        if how == "ends":
            return rng.choice(np.array([info.min, info.max], dtype), shape)
        return full_range(rng, dtype, shape)

    out_channels = channels * multiplier
    layout = draw(st.sampled_from(["IHWO", "OIHW", "OHWI", "HWIO", "HWOI"]))
    kernel = values(kernel_dtype, (out_channels, *window, 1))
    middle = {"uint8": 128, "int8": 0}[kernel_dtype]
    info = np.iinfo(out_dtype)
    low, high = sorted(int(values(out_dtype, ())) for _ in range(2))
    zero_point = int(values(out_dtype, ()))
    bounds = draw(st.sampled_from([(int(info.min), int(info.max)), (low, high)]))
    if draw(st.booleans()):  # a ReLU
        bounds = zero_point, int(info.max)
    attrs = encodings(
        input=(0.125, int(values(in_dtype, ()))),
        kernel=(
            (2.0 ** rng.uniform(-9, -3, out_channels)).tolist(),
            draw(st.sampled_from([middle, int(values(kernel_dtype, ()))])),
        ),
        output=(draw(st.sampled_from([0.5, 0.33, 4.0])), zero_point),
        out_dtype=out_dtype,
        out_min=bounds[0],
        out_max=bounds[1],
        strides=draw(st.tuples(sizes, sizes)),
        padding=padding,
        dilation=dilation,
        groups=channels,
        data_layout="NHWC",
        kernel_layout=layout,
        rounding=draw(st.sampled_from(["tflite", "upward", "float32", "float64"])),
    )
    bias = rng.integers(-5000, 5000, out_channels, dtype=np.int32)
    operands = [
        values(in_dtype, (draw(st.integers(1, 2)), height, width, channels)),
        np.ascontiguousarray(kernel.transpose(permutation("OHWI", layout))),
        bias if draw(st.booleans()) else None,
    ]
    return operands, attrs


def check(operands: list[Any], attrs: dict[str, Any], target: tvm.target.Target) -> None:
    mod = check_layer(Call(quantized_conv2d, operands, attrs), target)
    names = [name.name_hint for name in mod.get_global_vars()]
    assert any(name.startswith("z_depthwise_conv2d") for name in names)


@each_isa
def test_equals_the_reference(isa: Isa) -> None:
    count = 12 if isa is AVX512_VNNI else 3

    @settings(max_examples=examples(count, PROCESSORS[isa][0]))
    @given(depthwise())
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
