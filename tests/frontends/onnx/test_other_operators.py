"""Operators of integers, truth values and real numbers that have no groups."""

import numpy as np
import pytest

from tests.support.onnx_graphs import Net, Node, equal, near, one

RNG = np.random.default_rng(3)
A, B = (RNG.integers(-9, 10, (4, 5)) for _ in range(2))
B += B == 0
FLAGS = [RNG.random((4, 5)) < 0.5 for _ in range(2)]
REALS = np.array([0.5, -0.0, np.nan, np.inf, -np.inf, -3.5], np.float32)
SHUFFLED = RNG.permutation(60).astype(np.float32).reshape(3, 4, 5)

test_every_bit_is_onnx_runtimes = equal(
    {
        **{op: one(op, A, B, opset=18) for op in ("Mod", "BitwiseAnd", "BitwiseOr", "BitwiseXor")},
        "BitwiseNot": one("BitwiseNot", A.astype(np.int8), opset=18),
        "Xor": one("Xor", *FLAGS),
        "remainders of real numbers": one(
            "Mod", REALS[[0, 1, 5]], np.array([0.3, 2, -2], np.float32), fmod=1
        ),
        "remainders with the divisors' signs": one("Mod", REALS, np.roll(REALS, 1), opset=28),
        "remainders of 0 with the divisors' signs": one(
            "Mod", np.array([-0.0, 0, 4, -4], np.float32), [[2.0], [-2.0]], opset=28
        ),
        **{f"Hardmax {opset}": one("Hardmax", SHUFFLED, opset=opset) for opset in (11, 17)},
    }
)


@pytest.mark.parametrize("operator", ["IsInf", "IsNaN"])
@pytest.mark.parametrize("before", ["Log", "Sqrt"])
def test_what_is_no_number_is_told_in_one_loop_with_what_makes_it(
    operator: str, before: str
) -> None:
    """TVM fuses these: a compiler that holds x = x to be true would give other choices."""
    nodes: list[Node] = [(before, "a", "b"), (operator, "b", "c"), ("Where", "c k b", "y")]
    Net(nodes, {"a": REALS}, {"k": np.float32(7)}).check_near(rtol=2.0**-22)


SMALL = RNG.uniform(-0.95, 0.95, 400).astype(np.float32)
ANGLES = ("Acos", "Asin", "Asinh", "Atan", "Atanh", "Cosh", "Sinh", "Tan")
# The C libraries' functions are others.
test_of_angles_and_hyperbolas = near(
    {**{op: one(op, SMALL) for op in ANGLES}, "Acosh": one("Acosh", np.abs(SMALL) + 1)},
    rtol=2.0**-20,
    atol=2.0**-22,
)


def test_operands_may_be_left_out_at_the_end() -> None:
    """Operators of TVM's own rules: a Gemm without bias, a Clip without ends."""
    data = {"a": RNG.integers(-4, 5, (3, 4)).astype(np.float32)}
    constants = {"w": RNG.integers(-4, 5, (4, 5)).astype(np.float32)}
    Net([("Gemm", "a w", "b"), ("Clip", "b", "y")], data, constants).check()
