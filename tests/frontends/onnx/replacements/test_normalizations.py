"""ONNX Runtime's own normalizations and forms of Gelu, as nodes of the standard."""

from typing import Any

import numpy as np
import pytest

from frontends.errors import UnsupportedOperatorError
from tests.support.onnx_graphs import Array, Held, Net, near, one, refused

RNG = np.random.default_rng(1)
X, B = RNG.normal(0, 2, (7, 33)).astype(np.float32), RNG.normal(0, 1, 33).astype(np.float32)
# Its error function, tangent and sigmoid are sums of products in an order of their own.
test_near_onnx_runtime = near(
    {
        "bias": one("BiasGelu", X, Held(B)),
        "fast": one("FastGelu", X),
        "fast, with a bias": one("FastGelu", X, Held(B)),
        "quick": one("QuickGelu", X),
        "quick, of a slope": one("QuickGelu", X, alpha=0.7),
        "quick, of slope 1": one("QuickGelu", X, alpha=1.0),
    },
    rtol=1e-6,
    atol=1e-7,
)


SIZES = [1, 32, 77]
"""Of rows, some of no whole vectors."""


def reals(rng: np.random.Generator, *shape: int) -> Array:
    return rng.normal(0.5, 2, shape).astype(np.float32)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("operands", ["x r s b a", "x r s b", "x r s", "x r s _ a"])
def test_skip_layer_normalization(operands: str, size: int) -> None:
    rng = np.random.default_rng(size)
    data = {"x": reals(rng, 2, 9, size), "r": reals(rng, 2, 9, size)}
    given = {name: reals(rng, size) for name in operands.split()[2:] if name != "_"}
    node = ("SkipLayerNormalization", operands, "y _ _ t", {"epsilon": 1e-6})
    Net([node], data, given).check()


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("operands", ["x r s a", "x r s"])
def test_skip_simplified_layer_normalization(operands: str, size: int) -> None:
    rng = np.random.default_rng(size)
    data = {"x": reals(rng, 2, 9, size), "r": reals(rng, 2, 9, size)}
    given = {name: reals(rng, size) for name in operands.split()[2:]}
    node = ("SkipSimplifiedLayerNormalization", operands, "y _ _ t", {"epsilon": 1e-6})
    Net([node], data, given).check()


@pytest.mark.parametrize("shape", [(5, 8), (1, 5, 8)])
def test_a_residual_may_be_that_of_each_sentence(shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(3)
    data = {"x": reals(rng, 3, 5, 8), "r": reals(rng, *shape)}
    for op in ("SkipLayerNormalization", "SkipSimplifiedLayerNormalization"):
        Net([(op, "x r s", "y")], data, {"s": reals(rng, 8)}).check()


def test_numbers_that_lie_far_from_0_keep_their_variance() -> None:
    rng = np.random.default_rng(4)
    data = {"x": reals(rng, 2, 3, 64) * np.float32(0.01) + 5000, "r": np.zeros((2, 3, 64), "f")}
    given = {"s": np.ones(64, np.float32)}
    Net([("SkipLayerNormalization", "x r s", "y")], data, given).check()


def embedding(
    operands: str, results: str, *, size: int = 32, opset: int = 17, **attributes: Any
) -> Net:
    rng = np.random.default_rng(size)
    arrays: dict[str, Array] = {
        "w": reals(rng, 50, size),
        "p": reals(rng, 20, size),
        "k": reals(rng, 2, size),
        "s": reals(rng, size),
        "b": reals(rng, size),
    }
    data: dict[str, Array] = {
        "i": rng.integers(0, 50, (2, 9)).astype(np.int32),
        "g": rng.integers(0, 2, (2, 9)).astype(np.int32),
        "m": (np.arange(9) < np.array([[9], [4]])).astype(np.int32),
        "at": rng.integers(0, 20, (2, 9)).astype(np.int32),
    }
    names = operands.split()
    data = {name: data[name] for name in names if name in data}
    constants = {name: arrays[name] for name in names if name in arrays}
    node = ("EmbedLayerNormalization", operands, results, attributes)
    return Net([node], data, constants, opset=opset)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("operands", ["i g w p k s b m", "i _ w p _ s b m", "i g w p k s b _ at"])
def test_embed_layer_normalization(operands: str, size: int) -> None:
    embedding(operands, "y n t", size=size, epsilon=1e-6).check()


def test_operators_of_old() -> None:
    embedding("i g w p k s b m", "y n", opset=11).check()


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("has_segments", [True, False])
def test_embeddings_of_bytes(dtype: str, has_segments: bool) -> None:
    rng = np.random.default_rng(5)
    info = np.iinfo(dtype)
    shapes = {"w": (50, 24), "p": (20, 24), "k": (2, 24), "s": (24,), "b": (24,)}
    constants: dict[str, Array] = {
        name: rng.integers(info.min, info.max + 1, shape).astype(dtype)
        for name, shape in shapes.items()
    }
    for name in shapes:
        constants[f"{name}s"] = rng.uniform(0.01, 0.1, ()).astype(np.float32)
        constants[f"{name}z"] = np.array(rng.integers(info.min, info.max), dtype)
    data = {
        "i": rng.integers(0, 50, (2, 9)).astype(np.int32),
        "g": rng.integers(0, 2, (2, 9)).astype(np.int32),
        "m": (np.arange(9) < np.array([[9], [4]])).astype(np.int32),
    }
    operands = "i g w p k s b m ws ps ks ss bs wz pz kz sz bz"
    if not has_segments:
        operands = "i _ w p _ s b m ws ps _ ss bs wz pz _ sz bz"
        data.pop("g")
    used = {name: array for name, array in constants.items() if name in operands.split()}
    node = ("QEmbedLayerNormalization", operands, "y n", {"epsilon": 1e-6})
    Net([node], data, used).check()


@pytest.mark.parametrize("op", ["SimplifiedLayerNormalization", "RMSNormalization"])
@pytest.mark.parametrize("size", [*SIZES, 15, 23])
def test_without_a_sum_are_the_same(op: str, size: int) -> None:
    rng = np.random.default_rng(size)
    data, given = {"x": reals(rng, 2, 9, size)}, {"s": reals(rng, size)}
    opset = 23 if op == "RMSNormalization" else 17
    Net([(op, "x s", "y", {"epsilon": 1e-6})], data, given, opset=opset).check()


ROWS = reals(np.random.default_rng(6), 2, 3, 8), reals(np.random.default_rng(7), 2, 3, 8)
SCALE = Held(np.ones(8, np.float32))
SKIP, SIMPLE = "SkipLayerNormalization", "SkipSimplifiedLayerNormalization"
NAMED, RESULTS = {"r": ROWS[1], "x": ROWS[0]}, ("y m", "y _ d")
test_operands_and_results_that_are_not_the_operators = refused(
    ("BiasGelu", one("BiasGelu", Held(B))),
    ("BiasGelu", one("BiasGelu", X, Held(B), Held(B))),
    (SIMPLE, one(SIMPLE, ROWS[0])),
    (SIMPLE, one(SIMPLE, *ROWS)),
    (SIMPLE, one(SIMPLE, *ROWS, *[SCALE] * 5)),
    *(("mean and deviation", Net([(SKIP, "x r r", each)], NAMED)) for each in RESULTS),
    error=UnsupportedOperatorError,
)
