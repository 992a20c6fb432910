"""Multiplying real matrices in integers
=====================================

A quantized network never touches a real number between its input and its output. This page
follows one product of two matrices from beginning to end. Real matrices become 8-bit integers. The
integers are multiplied and summed. The sums are scaled back to 8 bits without a single float
operation. The result is compared with the real product. At the end a bound of the error is derived
from the scales alone, and checked.

Run it with ``python tutorials/quantized_matmul.py``.
"""  # noqa: D205, D415

import matplotlib.pyplot as plt
import numpy as np

from qnn_ops.arithmetic.encoding import dequantize_array, quantize_array, tflite_asymmetric
from qnn_ops.arithmetic.fixed_point import clamp_to, quantize_multiplier
from qnn_ops.arithmetic.output_stages import quantize_down_by_fixed_point

np.set_printoptions(precision=3, suppress=True, linewidth=100)


def show(title: str, matrix: np.ndarray) -> None:
    """Print a matrix under its title."""
    print(f"\n{title}:\n{matrix}")


# %%
# Two real matrices
# -----------------
# Their ranges differ, and neither is centred on zero: the general case.

rng = np.random.default_rng(7)
lhs = rng.uniform(-1.0, 2.5, (3, 6)).astype(np.float32)
rhs = rng.uniform(-0.4, 0.3, (6, 4)).astype(np.float32)
depth = lhs.shape[1]
product = lhs.astype(np.float64) @ rhs.astype(np.float64)

show("lhs", lhs)
show("rhs", rhs)
show("lhs @ rhs", product)

# %%
# From real numbers to integers
# -----------------------------
# An encoding is a scale and a zero point: the integer ``q`` stands for the real number
# ``scale · (q - zero_point)``. It is chosen from the range of the values, and moved a little so
# that zero is an integer. The result's range would come from calibration; here it is that of the
# real product.

lhs_encoding = tflite_asymmetric(float(lhs.min()), float(lhs.max()), "uint8")
rhs_encoding = tflite_asymmetric(float(rhs.min()), float(rhs.max()), "uint8")
result_encoding = tflite_asymmetric(float(product.min()), float(product.max()), "uint8")
lhs_quantized = quantize_array(lhs, lhs_encoding)
rhs_quantized = quantize_array(rhs, rhs_encoding)

print()
for name, encoding in [("lhs", lhs_encoding), ("rhs", rhs_encoding), ("result", result_encoding)]:
    print(f"{name}: scale {encoding.scale:.6f}, zero point {encoding.zero_point}")
show("lhs, quantized", lhs_quantized)
show("rhs, quantized", rhs_quantized)

# %%
# The product of the integers
# ---------------------------
# Put both encodings into one element of the product, and the scales come out of the sum::
#
#     Σ sl·(l - zl) · sr·(r - zr)  =  sl·sr · Σ (l - zl)(r - zr)
#
# Subtracting zero points inside the sum would widen every operand to 9 bits and cost an operation
# for each. Multiplied out, they leave the inner loop::
#
#     Σ (l - zl)(r - zr)  =  Σ l·r  -  zl·Σ r  -  zr·Σ l  +  K·zl·zr
#
# The first sum is a plain product of 8-bit matrices in 32-bit accumulators, for which processors
# have instructions. The other sums take one pass over each matrix. The sums of a constant matrix
# are known before the program runs.

lhs_zero, rhs_zero = lhs_encoding.zero_point, rhs_encoding.zero_point
raw = lhs_quantized.astype(np.int32) @ rhs_quantized.astype(np.int32)
row_sums = lhs_quantized.sum(axis=1, keepdims=True, dtype=np.int32)
column_sums = rhs_quantized.sum(axis=0, keepdims=True, dtype=np.int32)
accumulator = raw - lhs_zero * column_sums - rhs_zero * row_sums + depth * lhs_zero * rhs_zero

show("Σ l·r, the inner loop", raw)
show("with the corrections for the zero points", accumulator)

# %%
# Back to 8 bits
# --------------
# An accumulator counts in steps of ``sl·sr``; the result counts in steps of ``so``. The factor
# between them is a real number, known in advance. Written as ``q / 2^31 · 2^shift`` it is an
# integer of 31 bits and a shift: one high multiplication, one rounding shift, the result's zero
# point, and a clamp.

real_multiplier = lhs_encoding.scale * rhs_encoding.scale / result_encoding.scale
multiplier, shift = quantize_multiplier(real_multiplier)
print(f"\nmultiplier {real_multiplier:.9f} = {multiplier} / 2^31 · 2^{shift}")

scaled = quantize_down_by_fixed_point(accumulator, multiplier, -shift, result_encoding.zero_point)
result_quantized = clamp_to(scaled, "uint8")
result = dequantize_array(result_quantized, result_encoding)

show("result, quantized", result_quantized)
show("result", result)
show("its difference from the real product", result - product)

# %%
# How large can the difference be?
# --------------------------------
# Rounding changes every operand by at most half a step, ``|dl| <= sl/2`` and ``|dr| <= sr/2``. The
# integer product is exact, so its error is::
#
#     (l + dl)(r + dr) - l·r  =  l·dr + r·dl + dl·dr
#
# Summed along a row of lhs and a column of rhs that is at most
# ``sr/2 · Σ|l| + sl/2 · Σ|r| + K · sl/2 · sr/2``.
#
# Scaling down rounds the multiplier (by ``2^-31`` of itself at most), the high multiplication (half
# of its last bit, which the shift then divides) and the shift (half a step of the result).
# The clamp moves no value further than half a step from its right value.

# Half a step; the small term bounds the errors of the float32 scale and of the float32 quotient,
# below 256: 256 · 2^-24 each.
half = 0.5 + 2.0**-15
off_lhs, off_rhs = half * lhs_encoding.scale, half * rhs_encoding.scale
from_operands = (
    off_rhs * np.abs(lhs).sum(axis=1, keepdims=True)
    + off_lhs * np.abs(rhs).sum(axis=0, keepdims=True)
    + depth * off_lhs * off_rhs
)
steps = half + 0.5 * 2.0**shift + np.abs(accumulator) * real_multiplier * 2.0**-31
bound = from_operands + result_encoding.scale * steps
error = np.abs(result - product)

show("the bound", bound)
print(f"\nlargest error {error.max():.4f}, largest bound {bound.max():.4f}")
print("every error is within its bound:", bool((error <= bound).all()))

figure, axes = plt.subplots(figsize=(6, 3.2), layout="constrained")
places = np.arange(error.size)
axes.bar(places, bound.ravel(), color="lightgray", label="the bound")
axes.bar(places, error.ravel(), label="the error")
axes.set_xlabel("element of the product")
axes.legend()
plt.show()
