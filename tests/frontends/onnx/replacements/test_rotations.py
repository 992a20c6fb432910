"""Rotary embeddings of ONNX Runtime's, against it."""

from typing import Any

import numpy as np

from frontends.errors import UnsupportedOperatorError
from tests.support.onnx_graphs import Array, Net, each, near

BATCH, HEADS, TOKENS, WIDTH, PLACES = 2, 3, 5, 16, 20


def model(
    shape: tuple[int, ...], *, half: int = WIDTH // 2, places: Array | None = None, **attrs: Any
) -> Net:
    rng = np.random.default_rng(1)
    drawn = rng.integers(0, PLACES, (BATCH, TOKENS))
    data: dict[str, Array] = {"x": rng.normal(0, 1, shape).astype(np.float32)}
    data["p"] = drawn if places is None else places
    angles = rng.uniform(0, 6, (PLACES, half)).astype(np.float32)
    node = ("RotaryEmbedding", "x p c s", "y", attrs)
    return Net([node], data, {"c": np.cos(angles), "s": np.sin(angles)})


SHAPES = {"side by side": (BATCH, TOKENS, HEADS * WIDTH), "heads": (BATCH, HEADS, TOKENS, WIDTH)}


def rotated(shape: str, half: int, interleaved: int) -> Net:
    attrs: dict[str, Any] = {"interleaved": interleaved}
    if half < WIDTH // 2:
        attrs |= {"num_heads": HEADS, "rotary_embedding_dim": 2 * half}
    return model(SHAPES[shape], half=half, **attrs)


# ONNX Runtime rounds a product and a sum at once, depending on the width.
NEAR = {"rtol": 1e-7, "atol": 3 * 2.0**-22}
test_near_onnx_runtime = near(each(rotated, SHAPES, (WIDTH // 2, 3), (0, 1)), **NEAR)


def test_the_place_of_the_first_token() -> None:
    model(SHAPES["side by side"], places=np.array([4])).check_near(rtol=1e-7, atol=1e-6)


def standard(
    shape: tuple[int, ...], *, half: int = WIDTH // 2, has_places: bool = True, **attrs: Any
) -> Net:
    """Return a model of the standard's operator, whose tables may be of tokens."""
    rng = np.random.default_rng(1)
    data: dict[str, Array] = {"x": rng.normal(0, 1, shape).astype(np.float32)}
    table = (PLACES, half) if has_places else (BATCH, TOKENS, half)
    angles = rng.uniform(0, 6, table).astype(np.float32)
    if has_places:
        data["p"] = rng.integers(0, PLACES, (BATCH, TOKENS))
    attrs |= {"num_heads": HEADS} if len(shape) == 3 else {}
    node = ("RotaryEmbedding", "x c s p" if has_places else "x c s", "y", attrs)
    constants = {"c": np.cos(angles), "s": np.sin(angles)}
    return Net([node], data, constants, opset=23, standard=["RotaryEmbedding"])


def standards(shape: str, how: tuple[int, bool], interleaved: int) -> Net:
    half, has_places = how
    attrs: dict[str, Any] = {"interleaved": interleaved}
    if half < WIDTH // 2:
        attrs["rotary_embedding_dim"] = 2 * half
    return standard(SHAPES[shape], half=half, has_places=has_places, **attrs)


HOW = [(WIDTH // 2, True), (3, True), (3, False)]
test_the_standards_is_near = near(each(standards, SHAPES, HOW, (0, 1)), **NEAR)


def test_what_is_refused() -> None:
    net = standard(SHAPES["heads"])
    del net.model.graph.node[0].input[3]
    net.check_refused("cosines of 2 axes", UnsupportedOperatorError)
