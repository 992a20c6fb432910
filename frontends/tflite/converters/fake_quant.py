"""FAKE_QUANT."""

from __future__ import annotations

import numpy as np
from tvm import relax
from tvm.relax import op as R

from frontends.errors import UnsupportedError
from frontends.tflite.converters.context import Context
from frontends.tflite.converters.registry import data_converter
from frontends.tflite.options import FakeQuantOptions
from qnn_ops.arithmetic import round_half_away
from qnn_ops.errors import QnnError
from qnn_ops.rounded import rounded


@data_converter("FAKE_QUANT")
def convert_fake_quant(ctx: Context) -> relax.Expr:
    """Round float32 values to evenly spaced ones, of which one is 0; half away from the lowest.

    What is no number becomes the lowest. Source: FakeQuantizeArray of TFLite's
    kernels/internal/quantization_util.h.
    """
    data, emit = ctx.input(0), ctx.builder.emit
    if data.tensor.dtype != "float32":
        raise UnsupportedError(f"of {data.tensor.dtype}")
    scale, low, high = _grid(ctx.options(FakeQuantOptions))
    above = R.where(R.greater_equal(data.expr, _number(low)), data.expr, _number(low))
    distance = R.subtract(R.minimum(above, _number(high)), _number(low))
    steps = emit(R.multiply(distance, _number(np.float32(1) / scale)))
    # In float64 a half more is exact, and no fused multiply-add takes the product for float32's.
    whole = R.floor(R.add(R.astype(steps, "float64"), relax.const(0.5, "float64")))
    product = R.multiply(emit(whole), relax.const(float(scale), "float64"))
    return rounded(emit(R.add(R.astype(emit(product), "float32"), _number(low))))


def _grid(options: FakeQuantOptions) -> tuple[np.float32, np.float32, np.float32]:
    """Return the distance of neighbours, and the lowest and the highest value."""
    low, high, bits = np.float32(options.min), np.float32(options.max), options.num_bits
    if options.narrow_range:
        raise UnsupportedError("a narrow range, which LiteRT does not take")
    if not 1 <= bits <= 16:
        raise QnnError(f"num_bits must be 1 to 16, got {bits}")
    most = np.float32(2**bits - 1)
    with np.errstate(all="ignore"):
        scale = (high - low) / most
        is_usable = 0 < scale < np.inf and 1 / scale < np.inf
    if not is_usable:
        raise QnnError(f"values from {low} to {high} have no {bits} bits")
    zero = np.clip(round_half_away(-low / scale), 0, most)
    return scale, (0 - zero) * scale, (most - zero) * scale


def _number(value: np.float32) -> relax.Expr:
    return relax.const(value, "float32")
