import math

import numpy as np
import pytest

from qnn_ops import QnnError, float_function
from tests.support.errors import fails


def numbers() -> np.ndarray:
    rng = np.random.default_rng(1)
    return np.concatenate(
        [
            rng.normal(0, 1, 40_000),
            rng.uniform(-5, 5, 40_000),
            rng.normal(0, 1e-4, 1000),
            [0.0, -0.0, 0.921875, -0.921875, 3.725, -9, np.inf, -np.inf, 1e-42],
        ]
    ).astype(np.float32)


def test_near_the_true_functions() -> None:
    x = numbers()[:2000].astype(np.float64)
    erf = float_function.evaluate(x.astype(np.float32), "erf")
    np.testing.assert_allclose(erf, [math.erf(value) for value in x], rtol=2e-6, atol=1e-7)
    below = -np.abs(x)
    exp = float_function.evaluate(below.astype(np.float32), "exp")
    np.testing.assert_allclose(exp, np.exp(below.astype(np.float32)), rtol=2e-7)


@pytest.mark.parametrize(
    ("code", "function"),
    [("Erf", "erf"), ("Sigmoid", "onnxruntime_logistic"), ("Tanh", "onnxruntime_tanh")],
)
def test_equal_to_onnx_runtime(code: str, function: str) -> None:
    from tests.support.onnx_graphs import Net, on_runtime

    data = {"x": np.concatenate([numbers(), numbers() * 9])}
    expected = on_runtime(Net([(code, "x", "y")], data).model, data)[0]
    np.testing.assert_array_equal(float_function.evaluate(data["x"], function), expected)


def test_the_tangent_of_gru_rounds_its_products() -> None:
    # That it is ONNX Runtime's is seen where its GRU is compared.
    data = numbers()
    own, other = (
        float_function.evaluate(data, f"onnxruntime_{name}") for name in ("gru_tanh", "tanh")
    )
    assert 0.1 < (own != other).mean() < 0.9
    np.testing.assert_allclose(own, np.tanh(data), rtol=3e-6, atol=1e-7)


@pytest.mark.parametrize("function", ["logistic", "tanh"])
def test_within_three_units_of_the_true_functions(function: str) -> None:
    data, found = near_functions(function)
    assert ulps_from_truth(data, found, function) <= 3
    odd = np.array([np.inf, -np.inf, 0.0, -0.0, 1e-30], np.float32)
    expected = {"logistic": [1, 0, 0.5, 0.5, 0.5], "tanh": [1, -1, 0.0, -0.0, 1e-30]}[function]
    ends = float_function.evaluate(odd, function)
    np.testing.assert_array_equal(ends, np.array(expected, np.float32))
    np.testing.assert_array_equal(np.signbit(ends), np.signbit(np.array(expected)))


def near_functions(function: str) -> tuple[np.ndarray, np.ndarray]:
    """Return numbers whose results are no less than the least normal one, and the reference's."""
    x = np.concatenate([numbers(), np.linspace(-86, 86, 30_000, dtype=np.float32)])
    x = x[np.abs(x) < 86]
    return x, float_function.evaluate(x, function)


def ulps_from_truth(x: np.ndarray, found: np.ndarray, function: str) -> float:
    """Return by how many units in the last place results lie off at most."""
    wide = x.astype(np.float64)
    true = np.tanh(wide) if function == "tanh" else 1 / (1 + np.exp(-wide))
    units = np.spacing(np.abs(true).astype(np.float32)).astype(np.float64)
    return float(np.max(np.abs(found.astype(np.float64) - true) / units))


def test_the_function_is_a_known_one() -> None:
    with pytest.raises(
        QnnError, match="function must be one of erf, exp, logistic, tanh, onnxruntime_gru_tanh"
    ):
        float_function.evaluate(np.zeros(3, np.float32), "sin")
    fails("data must be float32", float_function.evaluate, np.zeros(3, np.int8), "erf")
