"""From ranges to integers
=======================

This page shows how scales and zero points are chosen, what they cost, and how a real factor becomes
an integer multiplication. It uses the functions of the project itself.

Run it with ``python tutorials/ranges_to_integers.py``.
"""  # noqa: D205, D415

import matplotlib.pyplot as plt
import numpy as np

from qnn_ops.arithmetic.encoding import (
    dequantize_array,
    quantize_array,
    snpe,
    symmetric,
    tflite_asymmetric,
)
from qnn_ops.arithmetic.fixed_point import multiply_by_quantized_multiplier, quantize_multiplier

rng = np.random.default_rng(0)

# %%
# A scale and a zero point
# ------------------------
# Calibration runs a network on examples and notes the range of each tensor, here from -1 to 3.
# uint8 has 256 integers, so 255 steps: the scale is 4 / 255. The real number 0 must correspond to
# an integer exactly, because padding consists of zeros. This integer is the zero point. The range
# moves a little to make it an integer.

encoding = tflite_asymmetric(-1.0, 3.0, "uint8")
print(f"scale {encoding.scale:.8f}, zero point {encoding.zero_point}")
print("range", encoding.real_range)

real = np.linspace(-2, 4, 1201, dtype=np.float32)
integers = quantize_array(real, encoding)
back = dequantize_array(integers, encoding)

figure, (above, below) = plt.subplots(2, 1, figsize=(7, 5), sharex=True, layout="constrained")
above.plot(real, integers)
above.axhline(encoding.zero_point, linewidth=0.6, color="grey")
above.set_ylabel("integer")
below.plot(real, back - real, linewidth=0.8)
below.set_ylim(-3 * encoding.scale, 3 * encoding.scale)
below.set_ylabel("error")
below.set_xlabel("real number")
plt.show()

# %%
# Inside the range the error is at most half a step. Outside the range the value is clamped, and the
# error grows with the distance.

inside = (real >= encoding.real_range[0]) & (real <= encoding.real_range[1])
print(f"largest error inside: {np.abs(back - real)[inside].max() / encoding.scale:.3f} steps")

# %%
# Three ways to choose
# --------------------
# TFLite's activations use the whole range, asymmetric. Weights are symmetric in int8: the zero
# point is 0, which makes products cheaper. Qualcomm's SNPE also uses uint8 and a moved range, but
# rounds the zero point and the range in its own way.

low, high = -1.0, 3.03
table = {
    "TFLite, uint8": tflite_asymmetric(low, high, "uint8"),
    "TFLite, int8": tflite_asymmetric(low, high, "int8"),
    "symmetric, int8": symmetric(max(-low, high), "int8"),
    "SNPE, uint8": snpe(low, high),
}
values = rng.uniform(low, high, 20_000).astype(np.float32)
for name, each in table.items():
    error = dequantize_array(quantize_array(values, each), each) - values
    first, last = each.real_range
    print(
        f"{name:16} scale {each.scale:.7f}  zero point {each.zero_point:5}  "
        f"range {first:8.5f} to {last:8.5f}  rms error {np.sqrt(np.mean(error**2)):.5f}"
    )

# %%
# The wider the range, the coarser the step
# -----------------------------------------
# A single outlier stretches the range, and every other value pays for it. Therefore calibration
# sometimes cuts ranges off, and weights have a scale for each channel.

spread = rng.normal(0, 1, 20_000).astype(np.float32)
limits = np.linspace(1, 12, 45)
errors = []
for limit in limits:
    each = symmetric(float(limit), "int8")
    error = dequantize_array(quantize_array(spread, each), each) - spread
    errors.append(float(np.sqrt(np.mean(error**2))))

figure, axes = plt.subplots(figsize=(7, 3.2), layout="constrained")
axes.semilogy(limits, errors)
axes.set_xlabel("half the range, in standard deviations")
axes.set_ylabel("rms error")
plt.show()
print(f"the best range here is about ±{limits[int(np.argmin(errors))]:.1f} standard deviations")

# %%
# A real factor in integers
# -------------------------
# A convolution's sum counts steps of ``sx·sw``, its result steps of ``sy``. The factor between them
# is known when the model is compiled. gemmlowp writes it as ``q · 2^(shift - 31)`` with a 31-bit
# integer ``q`` of at least 2^30, so that no precision is lost:

factor = 0.0123 * 0.0047 / 0.0391
q, shift = (int(value) for value in quantize_multiplier(factor))
print(f"{factor:.12f} = {q} · 2^({shift} - 31), off by {q * 2.0 ** (shift - 31) - factor:.1e}")

# %%
# The product with ``q`` is 64 bits wide. Its high half is rounded, then shifted and rounded again:
# two roundings, which now and then give another integer than a single one would.

sums = np.arange(-40_000, 40_000, dtype=np.int32)
twice = multiply_by_quantized_multiplier(sums, np.int32(q), np.int32(shift))
once = np.floor(sums * factor + 0.5).astype(np.int32)
apart = np.flatnonzero(twice != once)
print(f"{apart.size} of {sums.size} sums round differently, by {np.abs(twice - once).max()}")

figure, axes = plt.subplots(figsize=(7, 3.2), layout="constrained")
axes.plot(sums, twice - sums * factor, ",")
axes.set_xlabel("sum")
axes.set_ylabel("rounded - real, in steps")
axes.set_title("what two roundings leave", loc="left")
plt.show()

# %%
# The error is half a step, and a little more if the first rounding pushed a sum over the tie of the
# second. A program that rounds once is not wrong. But its results are not those with which the
# network was evaluated. The results of this project are.
