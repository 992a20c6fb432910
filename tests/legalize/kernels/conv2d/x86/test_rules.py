"""Convolutions and dense layers of the dialect through the kernel of each instruction set."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import tvm
from hypothesis import given, settings

from legalize.kernels.conv2d.plan import Weights
from legalize.kernels.conv2d.spec import ConvSpec
from legalize.kernels.conv2d.x86.amx.plan import TilePlan
from legalize.kernels.conv2d.x86.dot.plan import DotPlan
from legalize.kernels.conv2d.x86.pairs.plan import PairsPlan
from legalize.kernels.conv2d.x86.rules import cheapest_plan
from legalize.kernels.conv2d.x86.winograd.plan import WinogradPlan
from legalize.kernels.isa.x86 import AMX, AVX2, AVX512_VNNI, AVX512BW, AVX_VNNI, SSE41, Isa
from qnn_ops import quantized_conv2d, quantized_dense
from qnn_ops.arrays import Array
from qnn_ops.dialect.registry import Operator
from tests.legalize.kernels.conv2d.x86.amx.test_plan import sized
from tests.legalize.kernels.conv2d.x86.test_kernel import SPEC
from tests.support.arrays import full_range
from tests.support.cases import convolutions, dense_layers
from tests.support.encodings import encodings
from tests.support.kernels import Call, check_layer, lowered
from tests.support.x86 import PROCESSORS, TARGET, each_isa, examples, needs_vnni

ATTRS = encodings(input=(0.5, 7), kernel_scale=0.0078125, output=(4.0, 3), out_dtype="uint8")
POINTWISE = replace(
    SPEC, in_height=14, in_width=14, in_channels=256, kernel_height=1, kernel_width=1
)
THREE = replace(sized(28, 28, 128, 128, 3), has_asymmetric_kernel=False)


def weights_of(isa: Isa) -> str:
    """The dtype by which an instruction set multiplies bytes, and its lanes."""
    return f"{'int8' if isa.has_byte_products else 'int16'} x{isa.lanes}"


def kernel_buffers(mod: tvm.IRModule) -> list[str]:
    """Weights and biases of the kernels in a module, as in ``int8 x16``."""
    found = []
    for name, function in mod.functions.items():
        if name.name_hint.startswith("z_conv2d"):
            _, weights, bias, *_ = function.params
            found.append(f"{weights.dtype} x{bias.shape[-1]}")
    return found


@each_isa
@pytest.mark.parametrize("kernel_zero_point", [0, -20])
def test_a_convolution_equals_the_reference(isa: Isa, kernel_zero_point: int) -> None:
    rng = np.random.default_rng(0)
    data, kernel = full_range(rng, "int8", (2, 7, 6, 19)), full_range(rng, "int8", (37, 3, 2, 19))
    attrs = {
        **ATTRS,
        "kernel_zero_point": kernel_zero_point,
        "padding": (1, 0, 1, 1),
        "data_layout": "NHWC",
        "kernel_layout": "OHWI",
    }
    target = {"kind": "llvm", "mcpu": PROCESSORS[isa][0]}
    mod = check_layer(Call(quantized_conv2d, [data, kernel], attrs), target, 101)
    assert kernel_buffers(mod) == [weights_of(isa)]


@each_isa
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_a_convolution_of_widened_data_equals_the_reference(isa: Isa, dtype: str) -> None:
    rng = np.random.default_rng(0)
    data, kernel = full_range(rng, dtype, (1, 9, 8, 64)), full_range(rng, "int8", (64, 5, 5, 64))
    attrs = {
        **ATTRS,
        "output_scale": 6.0,
        "output_zero_point": 100,
        "kernel_zero_point": 0,
        "padding": (2, 2, 2, 2),
        "data_layout": "NHWC",
        "kernel_layout": "OHWI",
    }
    target = {"kind": "llvm", "mcpu": PROCESSORS[isa][0]}
    mod = check_layer(Call(quantized_conv2d, [data, kernel], attrs), target, 101)
    stages = [f for name, f in mod.functions.items() if name.name_hint.startswith("stage")]
    dtypes = [str(stage.params[-1].dtype) for stage in stages]
    # For the others the model says that it is as well either way.
    assert dtypes == ["int16"] or isa is not AVX2


@each_isa
@pytest.mark.parametrize("rows", [1, 9])
def test_a_dense_layer_equals_the_reference(isa: Isa, rows: int) -> None:
    rng = np.random.default_rng(0)
    data, kernel = full_range(rng, "uint8", (rows, 150)), full_range(rng, "uint8", (43, 150))
    attrs = {**ATTRS, "kernel_zero_point": 110}
    target = {"kind": "llvm", "mcpu": PROCESSORS[isa][0]}
    mod = check_layer(Call(quantized_dense, [data, kernel], attrs), target)
    assert kernel_buffers(mod) == [weights_of(isa)]


def check(
    operator: Operator[Any], operands: list[Any], attrs: dict[str, Any], target: Any = TARGET
) -> None:
    mod = check_layer(Call(operator, operands, attrs), target)
    assert len(kernel_buffers(mod)) == (np.unique(attrs["kernel_zero_point"]).size == 1)


@needs_vnni
@settings(max_examples=examples(20))
@given(convolutions(layouts=["NHWC"], most_groups=1, most_channels=21))
def test_any_convolution_equals_the_reference(case: tuple[list[Any], dict[str, Any]]) -> None:
    check(quantized_conv2d, *case)


@each_isa
def test_any_dense_layer_equals_the_reference(isa: Isa) -> None:
    @settings(max_examples=examples(12, PROCESSORS[isa][0]))
    @given(dense_layers())
    def run_one(case: tuple[list[Any], dict[str, Any]]) -> None:
        check(quantized_dense, *case, {"kind": "llvm", "mcpu": PROCESSORS[isa][0]})

    run_one()


@pytest.mark.parametrize(
    ("target", "isa"),
    [
        ("znver4", AVX512_VNNI),
        ("sapphirerapids", AVX512_VNNI),
        ("sierraforest", AVX_VNNI),
        ("skylake-avx512", AVX512BW),
        ("znver3", AVX2),
        ("x86-64-v3", AVX2),
        ("x86-64-v2", SSE41),
        ("x86-64", None),
    ],
)
def test_the_fastest_instruction_set_is_chosen(target: str, isa: Isa | None) -> None:
    # Weights that no pairs of bytes can hold.
    data, kernel = np.zeros((40, 64), np.uint8), np.full((32, 64), 127, np.int8)
    attrs = {**ATTRS, "kernel_zero_point": 0}
    call = Call(quantized_dense, [data, kernel], attrs)
    mod = lowered(call, {"kind": "llvm", "mcpu": target}, quantized_dense.tensors[1:])
    expected = [weights_of(isa)] if isa else []
    assert kernel_buffers(mod) == expected


def weights(spec: ConvSpec, sigma: float) -> Array:
    shape = spec.out_channels, spec.kernel_height, spec.kernel_width, spec.in_channels
    values = np.random.default_rng(0).normal(0, sigma, shape)
    return np.clip(np.rint(values), -127, 127).astype(np.int8)


def chosen(
    spec: ConvSpec, isa: Isa, kernel: Array | None = None, zero_point: int = 0
) -> tuple[str, str, type]:
    """The dtypes of the staged data and of its weights, and the way."""
    kernel = weights(spec, 15) if kernel is None else kernel
    plan = cheapest_plan(spec, isa, Weights(kernel, zero_point))
    return plan.spec.staged_dtype, plan.products.weight_dtype, type(plan)


@pytest.mark.parametrize("isa", [AVX512BW, AVX2, SSE41], ids=lambda isa: isa.name)
def test_without_byte_products_small_kernels_are_transformed(isa: Isa) -> None:
    assert chosen(THREE, isa) == ("uint8", "int16", WinogradPlan)
    assert chosen(POINTWISE, isa) == ("uint8", "int8", PairsPlan)


def test_beside_byte_products_larger_tiles_are_transformed() -> None:
    assert chosen(THREE, AVX512_VNNI) == ("uint8", "int16", WinogradPlan)
    assert chosen(POINTWISE, AVX512_VNNI) == ("uint8", "int8", DotPlan)
    assert chosen(THREE, AVX_VNNI) == ("uint8", "int8", DotPlan)


def test_tiles_come_before_vectors() -> None:
    assert chosen(THREE, AMX) == ("uint8", "int8", TilePlan)


@pytest.mark.parametrize("isa", [AVX512BW, AVX2, SSE41])
@pytest.mark.parametrize("spec", [replace(SPEC, kernel_height=2), POINTWISE])
def test_small_weights_are_multiplied_as_bytes(spec: ConvSpec, isa: Isa) -> None:
    assert chosen(spec, isa) == ("uint8", "int8", PairsPlan)


def test_large_weights_are_multiplied_as_words() -> None:
    wide = replace(POINTWISE, out_channels=256)
    kernel = np.full((256, 1, 1, 256), 127, np.int8)
    assert chosen(wide, AVX2, kernel) == ("int16", "int16", DotPlan)


def test_weights_count_from_their_zero_point() -> None:
    kernel = np.full((32, 1, 1, 256), 190, np.uint8)
    assert chosen(POINTWISE, AVX2, kernel, 128)[2] is PairsPlan
    assert chosen(POINTWISE, AVX2, kernel, 0)[2] is DotPlan


def test_byte_products_take_any_weights() -> None:
    plan = cheapest_plan(SPEC, AVX512_VNNI, Weights(weights(SPEC, 15)))
    assert isinstance(plan, DotPlan)
    assert (plan.spec, plan.products.isa) == (SPEC, AVX512_VNNI)
