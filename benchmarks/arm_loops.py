"""Estimates with llvm-mca how long ARM processors take for the kernels' loops.

python -m benchmarks.arm_loops --markdown table.md

llvm-mca (Debian, Ubuntu: apt install llvm-19) simulates how a processor issues the instructions of
a loop to its units. It uses LLVM's model of the processor, with all data in the nearest cache. This
is no measurement, but it shows whether the products keep their units busy.
"""

import re
from typing import Any

import numpy as np

from benchmarks.loops.assembly import Dialect, Loop, name_of
from benchmarks.loops.layer import LAYER, LAYER_3X3
from benchmarks.loops.table import Kernel, Processor, Suite, command
from legalize.kernels.conv2d.arm.pack import pack_conv2d
from legalize.kernels.conv2d.calls import fixed_point
from legalize.kernels.conv2d.plan import Weights
from legalize.kernels.depthwise.arm.rules import pack_depthwise
from legalize.kernels.isa.arm import DOTPROD, I8MM, NEON, Isa

AARCH64 = Dialect(
    triple="aarch64",
    comment="//",
    jump=re.compile(r"\s+(?:b|b\.\w+|cbn?z|tbn?z)\s+(?:.*\s)?(\.L\w+)$"),
)

PROCESSORS = (
    Processor("Cortex-A72", "cortex-a72", NEON, "aarch64"),
    # LLVM has no model of the Cortex-A76, but it has one of the server processor of the same
    # design.
    Processor("Neoverse N1", "neoverse-n1", DOTPROD, "aarch64-dotprod"),
    Processor("Neoverse N2", "neoverse-n2", I8MM, "aarch64-i8mm"),
    Processor("Neoverse V1", "neoverse-v1", I8MM, "aarch64-i8mm"),
)

_BYTES = re.compile(r"\s+(smull|smlal)2?\s+v\d+\.8h")
_SUMS = re.compile(r"\s+(sdot|smmla|(smull|smlal)2?\s+v\d+\.8h|sadalp|saddw2?)\b")
_PRODUCTS = {"sdot": 16, "smmla": 32}


def products(loop: Loop) -> int:
    """Count the products of bytes in a round of a loop."""
    return sum(8 if _BYTES.match(line) else _PRODUCTS.get(name_of(line), 0) for line in loop.own)


def sums(loop: Loop) -> list[str]:
    """Return the instructions of a loop that multiply and add up products."""
    return [line for line in loop.own if _SUMS.match(line)]


def rescaling(loop: Loop) -> int:
    """Count the instructions of a loop that rescale sums."""
    return loop.count("sqrdmulh")


def convolution(isa: Isa) -> Any:
    """Return the function of a 1 × 1 convolution."""
    rng = np.random.default_rng(0)
    weights = rng.integers(-127, 128, (LAYER.out_channels, 1, 1, LAYER.in_channels)).astype(np.int8)
    scales = rng.uniform(0.001, 0.01, LAYER.out_channels)
    return pack_conv2d(LAYER, Weights(weights, 0, None, *fixed_point(LAYER, scales)), isa).build()


def depthwise(isa: Isa) -> Any:
    """Return the function of a 3 × 3 depthwise convolution."""
    rng = np.random.default_rng(0)
    weights = rng.integers(-127, 128, (3, 3, LAYER.in_channels)).astype(np.int8)
    scales = rng.uniform(0.001, 0.01, LAYER.out_channels)
    weights_of = Weights(weights, 0, None, *fixed_point(LAYER, scales))
    return pack_depthwise(LAYER_3X3, weights_of, NEON).build()


SUITE = Suite(
    dialect=AARCH64,
    products=products,
    sums=sums,
    kernels=(
        Kernel("convolution: sums", convolution, products, PROCESSORS),
        Kernel("convolution: requantize, store", convolution, rescaling, PROCESSORS),
        Kernel("depthwise: all", depthwise, products, PROCESSORS),
    ),
)

main = command(SUITE, __doc__)

if __name__ == "__main__":
    main()
