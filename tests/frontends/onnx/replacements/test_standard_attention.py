"""The standard's own attention, against ONNX Runtime."""

from typing import Any

import numpy as np
import pytest

import tvm_qnn as qnn
from frontends.errors import UnsupportedOperatorError
from frontends.onnx import from_onnx
from tests.support.onnx_graphs import Array, Net, assert_near, each, near, refused

BATCH, HEADS, TOKENS, SEEN, WIDTH = 2, 4, 5, 7, 8


def reals(rng: np.random.Generator, *shape: int) -> Array:
    return rng.normal(0, 1, shape).astype(np.float32)


def model(
    *,
    shared: int = HEADS,
    seen: int = TOKENS,
    tokens: int = TOKENS,
    is_flat: bool = False,
    past: int = 0,
    mask: Array | None = None,
    lengths: Array | None = None,
    has_scores: bool = False,
    **attributes: Any,
) -> Net:
    """Return a model of one attention, and data of it.

    Args:
        shared: heads of keys and values.
        seen: their tokens.
        tokens: of queries.
        is_flat: whether heads lie side by side.
        past: tokens that come before, if there are some.
        mask: if there is one.
        lengths: of keys that are no padding, likewise.
        has_scores: whether scores are a result.
        attributes: of the operator.
    """
    rng = np.random.default_rng(1)
    sizes = {"q": (HEADS, tokens), "k": (shared, seen), "v": (shared, seen)}
    data = {name: reals(rng, BATCH, *size, WIDTH) for name, size in sizes.items()}
    if is_flat:
        for name, array in data.items():
            turned = array.transpose(0, 2, 1, 3)
            data[name] = np.ascontiguousarray(turned.reshape(*turned.shape[:2], -1))
        attributes |= {"q_num_heads": HEADS, "kv_num_heads": shared}
    operands, results = ["q", "k", "v", "_", "_", "_", "_"], "y"
    if mask is not None:
        data["m"], operands[3] = mask, "m"
    if past:
        data |= {name: reals(rng, BATCH, shared, past, WIDTH) for name in ("a", "b")}
        operands[4:6], results = ["a", "b"], "y pk pv"
    if lengths is not None:
        data["l"], operands[6] = lengths, "l"
    while operands[-1] == "_":
        operands.pop()
    if has_scores:
        results = "y _ _ s"
    node = ("Attention", " ".join(operands), results, attributes)
    opset = 23 if lengths is None else 24
    if any("window" in name for name in attributes):
        opset = 28
    return Net([node], data, opset=opset, standard=["Attention"])


CASES: dict[str, dict[str, Any]] = {
    "heads": {},
    "side by side": {"is_flat": True},
    "shared keys": {"shared": 2},
    "shared keys, side by side": {"shared": 1, "is_flat": True},
    "others' keys": {"seen": SEEN, "scale": 0.3},
    "causal": {"is_causal": 1},
    "causal, others' keys": {"is_causal": 1, "seen": SEEN},
    "bounded": {"softcap": 0.5},
    "past": {"past": 3},
    "past, side by side, shared": {"past": 3, "is_flat": True, "shared": 2},
    "past, causal": {"past": 3, "is_causal": 1},
    "past, one token, causal": {"past": 3, "is_causal": 1, "tokens": 1, "seen": 1},
    "lengths": {"lengths": np.array([5, 2])},
    "no length": {"lengths": np.array([0, 3])},
    "lengths, causal": {"lengths": np.array([7, 3]), "is_causal": 1, "seen": SEEN},
    "window": {"left_window_size": 1, "right_window_size": 0},
    "window to the left": {"left_window_size": 2, "seen": SEEN, "past": 3},
    "window to the right": {"right_window_size": 1, "seen": SEEN},
    "window, causal": {"left_window_size": 1, "right_window_size": 2, "is_causal": 1},
    "window, lengths": {
        "lengths": np.array([7, 4]),
        "seen": SEEN,
        "left_window_size": 1,
        "right_window_size": 1,
    },
}


NEAR = 2.0**-20
"""As tests/frontends/onnx/replacements/test_attentions.py says."""
test_near_onnx_runtime = near({name: model(**case) for name, case in CASES.items()}, NEAR)


@pytest.mark.parametrize("is_flat", [False, True])
@pytest.mark.parametrize("is_causal", [0, 1])
@pytest.mark.parametrize("open_ones", ["qkvab", "ab"])
def test_open_numbers_of_tokens_and_of_past_ones(
    is_flat: bool, is_causal: int, open_ones: str
) -> None:
    def net(tokens: int, past: int) -> Net:
        return model(tokens=tokens, seen=tokens, past=past, is_flat=is_flat, is_causal=is_causal)

    opened = net(TOKENS, 3).model
    for value in (one for one in opened.graph.input if one.name in open_ones):
        value.type.tensor_type.shape.dim[-2].dim_param = "past" if value.name in "ab" else "tokens"
    ranges = {"tokens": range(1, 17)} if "q" in open_ones else {}
    mod, params = from_onnx(opened, {**ranges, "past": range(1, 17)})
    library = qnn.build(mod, params=params)
    for tokens, past in ((1, 1), (5, 3), (1, 9)):
        _, data = run = net(tokens if ranges else TOKENS, past)
        for ours, theirs in zip(library.run(**data).values(), run.theirs(), strict=True):
            assert_near(ours, theirs, NEAR, rtol=0, atol=0)


def scores(stage: int) -> Net:
    mask = np.random.default_rng(3).random((TOKENS, SEEN)) < 0.6
    mask[0] = False
    attributes: dict[str, Any] = {"qk_matmul_output_mode": stage, "softcap": 0.7}
    return model(seen=SEEN, mask=mask, has_scores=True, **attributes)


def masked(is_bool: bool, shape: tuple[int, ...], is_causal: int) -> Net:
    rng = np.random.default_rng(2)
    mask = rng.random(shape) < 0.6 if is_bool else reals(rng, *shape)
    mask[..., 0, :] = False if is_bool else -np.inf  # a token that sees nothing
    return model(seen=SEEN, mask=mask, is_causal=is_causal, softcap=3.0 * is_causal)


SHAPES = [(TOKENS, SEEN), (1, TOKENS, SEEN), (BATCH, HEADS, TOKENS, SEEN)]
test_scores_as_a_result = near(each(scores, range(4)), NEAR)
test_masks = near(each(masked, (False, True), SHAPES, (0, 1)), NEAR)


test_what_is_refused = refused(
    ("softmax must be of float32", model(softmax_precision=11)),
    ("qk_matmul_output_mode is 4", model(qk_matmul_output_mode=4)),
    error=UnsupportedOperatorError,
)
