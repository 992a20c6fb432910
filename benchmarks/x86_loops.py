"""Estimates with llvm-mca how long x86 processors take for the kernels' loops.

python -m benchmarks.x86_loops --markdown table.md

llvm-mca (Debian, Ubuntu: apt install llvm-19) simulates how a processor issues the instructions of
a loop to its units. It uses LLVM's model of the processor, with all data in the nearest cache. This
is no measurement, but it shows whether the products keep their units busy.
"""

import re
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.loops.assembly import Dialect, Loop, name_of
from benchmarks.loops.layer import LAYER, LAYER_3X3
from benchmarks.loops.table import Kernel, Processor, Suite, command
from legalize.kernels.conv2d.calls import fixed_point
from legalize.kernels.conv2d.plan import Weights
from legalize.kernels.conv2d.spec import ConvSpec
from legalize.kernels.conv2d.x86.dot.plan import dot_plan
from legalize.kernels.conv2d.x86.plan import Packed, Plan
from legalize.kernels.conv2d.x86.rules import cheapest_plan
from legalize.kernels.depthwise.x86.rules import pack_depthwise
from legalize.kernels.isa.x86 import AVX2, AVX512_VNNI, AVX512BW, AVX_VNNI, SSE41, Isa

Array = npt.NDArray[Any]

X86_64 = Dialect(
    triple="x86_64",
    comment="#",
    # A jmp back comes from a block that LLVM put aside.
    jump=re.compile(r"\s+j(?!mp)[a-z]+\s+(\.L\w+)$"),
)

# LLVM 19's models of Sapphire Rapids and Zen 4 execute only half as many 512-bit vpdpbusd as the
# processors, and AMX's products one after another. Figures that depend on these models are wrong.
WITH_VNNI = (
    Processor("Cascade Lake", "cascadelake", AVX512_VNNI, "x86-avx512-vnni"),
    Processor("Ice Lake", "icelake-server", AVX512_VNNI, "x86-avx512-vnni -mcpu=icelake-server"),
    Processor("Alder Lake", "alderlake", AVX_VNNI, "x86-avx-vnni"),
)
WITHOUT = (
    Processor("Skylake", "skylake-avx512", AVX512BW, "x86-avx512"),
    Processor("Zen 3", "znver3", AVX2, "x86-avx2 -mcpu=znver3"),
    Processor("Haswell", "haswell", AVX2, "x86-avx2"),
    Processor("Sandy Bridge", "sandybridge", SSE41, "x86-sse4.1 -mcpu=sandybridge"),
)
PROCESSORS = WITH_VNNI + WITHOUT
WITH_WINOGRAD = tuple(one for one in PROCESSORS if one.isa is not AVX_VNNI)

# Products, of bytes or of words, in 16 bytes of a register, by instruction names without AVX's v.
_BYTES = {"pdpbusd": 16, "pmaddubsw": 16}
_WORDS = {"pdpwssd": 8, "pmaddwd": 8}
_WIDTHS = {"x": 1, "y": 2, "z": 4}
_REGISTER = re.compile(r"%([xyz])mm\d+$")


def _stem(line: str) -> str:
    return name_of(line).removeprefix("v")


def _multiplies(loop: Loop) -> dict[str, int]:
    """Return the products of instructions by name: behind pmaddubsw, pmaddwd only adds."""
    is_paired = any(_stem(line) == "pmaddubsw" for line in loop.own)
    return _BYTES if is_paired else _BYTES | _WORDS


def products(loop: Loop) -> int:
    """Count the products, of bytes or of words, in a round of a loop."""
    sizes = _multiplies(loop)
    return sum(
        sizes[_stem(line)] * _WIDTHS[match[1]]
        for line in loop.own
        if _stem(line) in sizes and (match := _REGISTER.search(line))
    )


def sums(loop: Loop) -> list[str]:
    """Return the instructions of a loop that multiply and add up products."""
    stems = [_stem(line) for line in loop.own]
    # Each pmaddwd has one paddd; other paddd belong to the rescaling.
    adds = [i for i, stem in enumerate(stems) if stem == "paddd"][: stems.count("pmaddwd")]
    names = {*_BYTES, *_WORDS, "paddw"}
    return [line for i, line in enumerate(loop.own) if stems[i] in names or i in adds]


def rescaling(loop: Loop) -> int:
    """Count the instructions of a loop that rescale sums, as integers or floats."""
    return sum(_stem(line) in ("pmuldq", "cvtdq2ps") for line in loop.own)


def _weights(*shape: int) -> Array:
    """Draw realistic weights: normal, with ±127 as the largest one of each output channel."""
    values = np.random.default_rng(0).standard_normal((LAYER.out_channels, *shape))
    largest = np.abs(values).max(axis=tuple(range(1, values.ndim)), keepdims=True)
    return np.rint(127 * values / largest).astype(np.int8)


def _scales(spec: ConvSpec) -> tuple[Any, Any]:
    """Return multipliers and shifts of the output channels."""
    return fixed_point(spec, np.random.default_rng(0).uniform(0.001, 0.01, spec.out_channels))


def planned(spec: ConvSpec, isa: Isa, *, by_bytes: bool = False) -> tuple[Plan, Packed]:
    """Return a convolution's plan, perhaps one without a transform, and its constants."""
    spec = replace(spec, staged_dtype="uint8")
    kernel = _weights(spec.kernel_height, spec.kernel_width, spec.in_channels)
    weights = Weights(kernel, 0, None, *_scales(spec))
    plan = dot_plan(spec, isa) if by_bytes else cheapest_plan(spec, isa, weights)
    return plan, plan.pack(weights)


def convolution(isa: Isa) -> Any:
    """Return the function of a 1 × 1 convolution."""
    plan, packed = planned(LAYER, isa)
    return plan.function(packed)


def convolution_3x3(isa: Isa) -> Any:
    """Return the function of a 3 × 3 convolution without a transform."""
    plan, packed = planned(LAYER_3X3, isa, by_bytes=True)
    return plan.function(packed)


def winograd_3x3(isa: Isa) -> Any:
    """Return the function of a 3 × 3 convolution by a transform."""
    plan, packed = planned(LAYER_3X3, isa)
    return plan.function(packed)


def depthwise(isa: Isa) -> Any:
    """Return the function of a 3 × 3 depthwise convolution."""
    spec = replace(LAYER_3X3, staged_dtype="uint8")
    kernel = _weights(3, 3).transpose(1, 2, 0)
    weights = Weights(kernel, 0, None, *_scales(spec))
    return pack_depthwise(spec, weights, isa).build()


SUITE = Suite(
    dialect=X86_64,
    products=products,
    sums=sums,
    kernels=(
        Kernel("convolution 1 × 1: sums", convolution, products, PROCESSORS),
        Kernel("convolution 1 × 1: requantize, store", convolution, rescaling, PROCESSORS),
        Kernel("convolution 3 × 3: sums", convolution_3x3, products, WITH_VNNI),
        Kernel("Winograd 3 × 3: sums", winograd_3x3, products, WITH_WINOGRAD),
        Kernel("depthwise 3 × 3: all", depthwise, products, PROCESSORS),
    ),
    note=(
        "Winograd's products are its own, of words, of which it needs 16 for 36 of the "
        "convolution's, with VNNI 36 for 144; depthwise ones count those by zeros that fill a "
        "register up."
    ),
)

main = command(SUITE, __doc__)

if __name__ == "__main__":
    main()
