"""The constants of float32 functions: ends of ranges, and coefficients of polynomials.

TANH_BELOW is from tanhf of Cephes. All others are from ONNX Runtime and its MLAS.
"""

LOG2_E = 1.44269504088896341
MINUS_LOG_2 = (-6.93145752e-1, -1.42860677e-6)
"""-log(2) in two parts. The first is so short that its products are exact."""
WHOLES = 1.5 * 2.0**23
"""The sum of a number and this has the nearest whole number in its last bits."""
LOWEST_EXPONENT = -88.3762626647949
LOWEST_EXPONENT_OF_ALL = -103.9720840454
"""Its exponential is below the least normal number. AVX512 computes these results, too."""
SPARE_EXPONENT = 24
"""Added to an exponent at first, so that its power of two is a normal number."""
EXP = (
    *(float.fromhex("0x1.694p-10"), float.fromhex("0x1.125edcp-7"), float.fromhex("0x1.555b5ap-5")),
    *(float.fromhex("0x1.55545p-3"), float.fromhex("0x1.fffff6p-2"), 1.0, 1.0),
)
"""A polynomial's coefficients. Here and below the highest power comes first."""
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

LOGISTIC_END = 18.0
"""Beyond it the quotient of polynomials is constant; ONNX Runtime's gates are such quotients."""
LOGISTIC_ABOVE = (
    *(4.37031012579801e-11, 1.15627324459942e-07, 6.08574864600143e-05, 8.51377133304701e-03),
    2.48287947061529e-01,
)
LOGISTIC_UNDER = (
    *(6.10247389755681e-13, 5.76102136993427e-09, 6.29106785017040e-06, 1.70198817374094e-03),
    *(1.16817656904453e-01, 9.93151921023180e-01),
)
TANH_END = 9.0
GRU_TANH_END = 10.0
TANH_ABOVE = (
    *(-2.76076847742355e-16, 2.00018790482477e-13, -8.60467152213735e-11, 5.12229709037114e-08),
    *(1.48572235717979e-05, 6.37261928875436e-04, 4.89352455891786e-03),
)
TANH_UNDER = (
    *(1.19825839466702e-06, 1.18534705686654e-04, 2.26843463243900e-03, 4.89352518554385e-03),
)
