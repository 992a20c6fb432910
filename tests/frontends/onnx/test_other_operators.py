"""Operators of integers, truth values and real numbers that have no groups."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.onnx_graphs import Node, check_equal, compiled, model_of, on_runtime

RNG = np.random.default_rng(3)
INTEGERS = {key: RNG.integers(-9, 10, (4, 5)) for key in "ab"}
INTEGERS["b"] += INTEGERS["b"] == 0
FLAGS = {key: RNG.random((4, 5)) < 0.5 for key in "ab"}
REALS = {"a": np.array([0.5, -0.0, np.nan, np.inf, -np.inf, -3.5], np.float32)}


@pytest.mark.parametrize("operator", ["Mod", "BitwiseAnd", "BitwiseOr", "BitwiseXor"])
def test_of_integers(operator: str) -> None:
    model = model_of([(operator, "a b", "y", {})], INTEGERS, ["y:int64"], {}, 18)
    check_equal(model, INTEGERS)


def test_of_one_integer() -> None:
    data = {"a": INTEGERS["a"].astype(np.int8)}
    check_equal(model_of([("BitwiseNot", "a", "y", {})], data, ["y:int8"], {}, 18), data)


def test_of_truth_values() -> None:
    check_equal(model_of([("Xor", "a b", "y", {})], FLAGS, ["y:bool"], {}), FLAGS)


@pytest.mark.parametrize("operator", ["IsInf", "IsNaN"])
@pytest.mark.parametrize("before", ["Log", "Sqrt"])
def test_what_is_no_number_is_told_in_one_loop_with_what_makes_it(
    operator: str, before: str
) -> None:
    """TVM fuses these: a compiler that holds x = x to be true would give other choices."""
    nodes: list[Node] = [
        (before, "a", "b", {}),
        (operator, "b", "c", {}),
        ("Where", "c k b", "y", {}),
    ]
    net = model_of(nodes, REALS, ["y"], {"k": np.float32(7)})
    ours, theirs = compiled(net, REALS)[0], on_runtime(net, REALS)[0]
    np.testing.assert_allclose(ours, theirs, rtol=2.0**-22)


def test_remainders_of_real_numbers() -> None:
    data = {"a": REALS["a"][[0, 1, 5]], "b": np.array([0.3, 2, -2], np.float32)}
    check_equal(model_of([("Mod", "a b", "y", {"fmod": 1})], data, ["y"], {}), data)


@pytest.mark.parametrize("opset", [11, 17])
def test_the_largest_is_one(opset: int) -> None:
    data = {"a": RNG.permutation(60).astype(np.float32).reshape(3, 4, 5)}
    check_equal(model_of([("Hardmax", "a", "y", {})], data, ["y"], {}, opset), data)


@pytest.mark.parametrize(
    "operator", ["Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Cosh", "Sinh", "Tan"]
)
def test_of_angles_and_hyperbolas(operator: str) -> None:
    reals = RNG.uniform(-0.95, 0.95, 400)
    data = {"a": (np.abs(reals) + 1 if operator == "Acosh" else reals).astype(np.float32)}
    model = model_of([(operator, "a", "y", {})], data, ["y"], {})
    ours, theirs = compiled(model, data)[0], on_runtime(model, data)[0]
    # The C libraries' functions are others.
    np.testing.assert_allclose(ours, theirs, rtol=2.0**-20, atol=2.0**-22)


def test_remainders_of_real_numbers_have_the_divisors_signs() -> None:
    data = {"a": REALS["a"], "b": np.roll(REALS["a"], 1)}
    model = model_of([("Mod", "a b", "y", {})], data, ["y"], {}, 28)
    check_equal(model, data)


def test_operands_may_be_left_out_at_the_end() -> None:
    """Operators of TVM's own rules: a Gemm without bias, a Clip without ends."""
    data = {"a": RNG.integers(-4, 5, (3, 4)).astype(np.float32)}
    nodes: list[Node] = [("Gemm", "a w", "b", {}), ("Clip", "b", "y", {})]
    constants = {"w": RNG.integers(-4, 5, (4, 5)).astype(np.float32)}
    check_equal(model_of(nodes, data, ["y"], constants), data)
