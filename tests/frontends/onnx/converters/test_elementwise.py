"""Operators of one element at a time: activations, powers, extremes, shifts of bits."""

import numpy as np
import pytest

from frontends.errors import UnsupportedOperatorError
from tests.support.onnx_graphs import Array, Held, Net, Node, equal, near, one, refused

RNG = np.random.default_rng(1)
SPECIAL = np.array([0.0, -0.0, 1e-30, -1e-30, 88, -88, 3e38, -3e38, np.inf, -np.inf], np.float32)
NORMAL = np.append(RNG.normal(0, 3, 246).astype(np.float32), SPECIAL).reshape(8, 32)
FEW = np.array([0.5, 2, 3, 1.25], np.float32)
MANY = np.append(RNG.normal(0, 3, 4096), [0, -0.0, np.inf, -np.inf, np.nan]).astype(np.float32)


def signs(dtype: str) -> Array:
    values = np.array([0, 1, 2, 100, 127], dtype)
    return values if dtype.startswith("uint") else values * np.array([1, 1, 1, -1, -1], dtype)


DTYPES = ("uint8", "uint16", "uint32", "uint64", "int8", "int64", "float32")
test_equals_onnx_runtime = equal({dtype: one("Sign", signs(dtype)) for dtype in DTYPES})


@pytest.mark.parametrize("is_known", [True, False])
@pytest.mark.parametrize("dtype", ["float32", "int32", "int64"])
def test_exponents_of_any_dtype(dtype: str, is_known: bool) -> None:
    exponent = np.array([2, 3, 2, 1], dtype)
    one("Pow", FEW, Held(exponent) if is_known else exponent).check()


EXPONENTS = (3.0, 2.0, -1.0, 0.5, 4.0, 2.2)
test_every_bit_is_onnx_runtimes = equal({f"{each}": one("Pow", MANY, each) for each in EXPONENTS})


def test_a_number_has_the_exponents_axes() -> None:
    nodes: list[Node] = [("Pow", f"x n{each}", f"y{each}") for each in range(3)]
    constants = {f"n{each}": np.full((1,) * each, each + 1.5, np.float32) for each in range(2)}
    constants["n2"] = np.full((1, 1), 3, np.float32)
    Net(nodes, {"x": np.array(1.5, np.float32)}, constants).check()


test_integers_and_bits = equal(
    {
        "bases may be integers": one("Pow", np.array([2, -3, 0]), np.array([2, 3, 5])),
        "bits of reals are those of integers": one("BitCast", SPECIAL, to=6, opset=26),
    }
)


@pytest.mark.parametrize("alpha", [1.0, 0.3, 2.5])
def test_within_the_last_bits_of_onnx_runtime(alpha: float) -> None:
    """Of the exponential, from which 1 is subtracted."""
    (ours,), (theirs,) = one("Celu", NORMAL, alpha=alpha).check_near(atol=alpha * 2**-22)
    np.testing.assert_array_equal(ours[NORMAL >= 0], theirs[NORMAL >= 0])


test_no_alpha_of_0 = refused(
    ("Celu: .*alpha", one("Celu", FEW, alpha=0.0)), error=UnsupportedOperatorError
)

test_bits_of_no_dtype = refused(
    ("BitCast: its attribute 'to' names no dtype", one("BitCast", SPECIAL, to=0, opset=26)),
    error=UnsupportedOperatorError,
)

ROWS = np.random.default_rng(1).normal(0, 2, (7, 33)).astype(np.float32)
GELUS = {form: one("Gelu", ROWS, approximate=form, opset=20) for form in ("none", "tanh")}
test_near_onnx_runtime = near(GELUS, rtol=1e-6, atol=1e-7)
