"""The numbers of functions of float32: ends of ranges, and coefficients of polynomials.

All but tanh's are MLAS's; those are of tanhf of Cephes.
"""

from __future__ import annotations

LOG2_E = 1.44269504088896341
MINUS_LOG_2 = (-6.93145752e-1, -1.42860677e-6)
"""Of two parts, the first so short that its products are exact."""
WHOLES = 1.5 * 2.0**23
"""Added to a number, it leaves the nearest whole one in the last bits."""
LOWEST_EXPONENT = -88.3762626647949
EXP = (
    *(float.fromhex("0x1.694p-10"), float.fromhex("0x1.125edcp-7"), float.fromhex("0x1.555b5ap-5")),
    *(float.fromhex("0x1.55545p-3"), float.fromhex("0x1.fffff6p-2"), 1.0, 1.0),
)
"""A polynomial's coefficients, the highest power first, as all of these are."""
ERF_END = 3.925
ERF_SPLIT = 0.921875
ERF_BELOW = (
    *(-5.99104969e-4, 4.99339588e-3, -2.67667342e-2, 1.12818025e-1, -3.76124859e-1),
    1.28379151e-1,
)
ERF_ABOVE = (
    *(1.72948930e-5, -3.83208680e-4, 3.88393435e-3, -2.42545605e-2, 1.06777847e-1),
    *(6.34846687e-1, 1.28717512e-1),
)
ERF_EXP = (*(1.38319808e-3, 8.37550033e-3, 4.16689515e-2, 1.66664466e-1, 4.99999851e-1, 1.0, 1.0),)
TANH_SPLIT = 0.625
TANH_BELOW = (
    *(-5.70498872745e-3, 2.06390887954e-2, -5.37397155531e-2, 1.33314422036e-1),
    -3.33332819422e-1,
)
