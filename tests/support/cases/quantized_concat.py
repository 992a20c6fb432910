"""Random quantized concatenations."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.support.arrays import full_range


def random_concat(rng: np.random.Generator, dtype: str) -> tuple[list[Any], dict[str, Any]]:
    """Operands and attributes; uint8 inputs have their own scales and zero points, most of them."""
    rank = int(rng.integers(1, 5))
    axis = int(rng.integers(-rank, rank))
    shape = rng.integers(1, 5, rank).tolist()
    exponent = rng.uniform(-8, 4)
    # Powers of two make ties frequent.
    exponent = np.round(exponent) if rng.integers(2) else exponent
    output = (float(np.float32(2.0**exponent)), full_range(rng, dtype, ()).item())
    inputs, quantizations = [], []
    for _ in range(rng.integers(1, 5)):
        shape[axis] = int(rng.integers(1, 5))
        inputs.append(full_range(rng, dtype, tuple(shape)))
        step = rng.uniform(-3, 3)
        scale = output[0] * 2.0 ** (np.round(step) if rng.integers(2) else step)
        own = (float(np.float32(scale)), full_range(rng, dtype, ()).item())
        quantizations.append(output if dtype == "int8" or rng.integers(4) == 0 else own)
    attrs = {
        "input_scales": [scale for scale, _ in quantizations],
        "input_zero_points": [zero_point for _, zero_point in quantizations],
        "output_scale": output[0],
        "output_zero_point": output[1],
        "out_dtype": dtype,
        "axis": axis,
    }
    return [inputs], attrs
