"""Operands and attributes of quantized_lstm."""

from typing import Any

import numpy as np

from qnn_ops.quantized.lstm import EXTRAS
from tests.support.arrays import full_range

PARTS = {
    "plain": (),
    "peepholes": EXTRAS[:1],
    "norm": EXTRAS[1:3],
    "projection": EXTRAS[3:],
    "all": EXTRAS,
}
"""The extra tensors of some LSTMs."""


def lstm_call(
    seed: int, parts: str, gates: int = 4, sizes: tuple[int, int, int] = (2, 5, 7), outputs: int = 6
) -> tuple[list[Any], dict[str, Any]]:
    """Draw operands and attributes.

    Args:
        seed: of what is drawn.
        parts: of ``PARTS``.
        gates: 3 or 4.
        sizes: batch, steps and cells.
        outputs: if there is a projection.
    """
    rng = np.random.default_rng(seed)
    (batch, steps, cells), names = sizes, PARTS[parts]
    outputs = outputs if "projection" in names else cells
    shapes: dict[str, tuple[str, tuple[int, ...]]] = {
        "peepholes": ("int16", (gates - 1, cells)),
        "norm_weights": ("int16", (gates, cells)),
        "norm_bias": ("int32", (gates, cells)),
        "projection": ("int8", (outputs, cells)),
        "projection_bias": ("int32", (outputs,)),
    }

    def drawn(name: str) -> np.ndarray:
        dtype, shape = shapes[name]
        if dtype == "int32":
            return rng.integers(-(2**18), 2**18, shape).astype(np.int32)
        return full_range(rng, dtype, shape)

    exponent = int(rng.integers(-15, -8))
    attrs: dict[str, Any] = {
        "extra_names": list(names),
        "input_multipliers": rng.uniform(0.01, 0.3, gates).tolist(),
        "recurrent_multipliers": (2.0 ** rng.uniform(-4, 1, gates)).tolist(),
        "peephole_multipliers": rng.uniform(1e-6, 1e-4, gates - 1).tolist(),
        "norm_scales": (2.0 ** rng.uniform(-15, -12, gates)).astype(np.float32).tolist(),
        "cell_exponent": exponent,
        "cell_clip": int(rng.integers(2)) * 20_000,
        "hidden_zero_point": int(rng.integers(-128, 128)),
        "product_multiplier": float(rng.uniform(0.5, 2) * 2.0**-23),
        "product_zero_point": int(rng.integers(-128, 128)),
        "projection_multiplier": float(rng.uniform(0.001, 0.02)),
        "projection_clip": int(rng.integers(2)) * 100,
    }
    for needed, name in (("peepholes", "peephole_multipliers"), ("norm_weights", "norm_scales")):
        if needed not in names:
            attrs[name] = []
    sums = rng.integers(-(2**17), 2**17, (batch, steps, gates * cells)).astype(np.int32)
    operands = [
        sums,
        full_range(rng, "int8", (batch, outputs)),
        full_range(rng, "int16", (batch, cells)),
        full_range(rng, "int8", (gates * cells, outputs)),
        [drawn(name) for name in names],
    ]
    return operands, attrs
