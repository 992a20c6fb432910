"""ONNX Runtime's own forms of attention, against it."""

from typing import Any

import numpy as np
import pytest

from frontends.errors import UnsupportedOperatorError
from tests.support.onnx_graphs import Array, Held, Net, Node, each, equal, near, one, refused

BATCH, TOKENS, HEADS, DEPTH, WIDTH = 2, 7, 2, 12, 16

LENGTHS = np.array([7, 4], np.int32)
RAW = np.array([[1, 1, 0, 1, 1, 1, 1], [0, 1, 1, 1, 0, 0, 0]], np.int32)
PAIRS = np.random.default_rng(9).integers(0, 2, (BATCH, TOKENS, TOKENS)).astype(np.int32)

MASKS: dict[str, Array | None] = {
    "none": None,
    "lengths": LENGTHS,
    "of tokens": RAW,
    "of pairs": PAIRS,
    "of sentences": np.zeros((BATCH, 1), np.int32),
    "of nothing": np.zeros((BATCH, TOKENS), np.int32),
}


def reals(rng: np.random.Generator, *shape: int) -> Array:
    return rng.normal(0, 1, shape).astype(np.float32)


NEAR = 2.0**-20
"""How far results, means of values that lie around 1, may be, as a part of the largest.

Scores are sums in another order, and ONNX Runtime's exponential is another polynomial. Scores of
tokens that are all hidden are rounded to 2^-10 beside the -10,000 of the mask, and rarely are one
such step apart.
"""


def attention(
    *,
    mask: Array | None = None,
    past: Array | None = None,
    addend: Array | None = None,
    **attributes: Any,
) -> Net:
    rng = np.random.default_rng(1)
    widths = attributes.get("qkv_hidden_sizes", [WIDTH] * 3)
    x = reals(rng, BATCH, TOKENS, DEPTH)
    weights = Held(reals(rng, DEPTH, sum(widths)) * np.float32(0.3))
    operands = (x, weights, Held(reals(rng, sum(widths))), mask, past, addend)
    given = {"num_heads": HEADS, **attributes}
    return one("Attention", *operands, results=1 if past is None else 2, **given)


def masked(mask: str, is_causal: int) -> Net:
    return attention(mask=MASKS[mask], unidirectional=is_causal)


OTHERS: list[dict[str, Any]] = [
    {"scale": 0.7},
    {"mask_filter_value": -3.5},
    {"qkv_hidden_sizes": [8, 8, 20]},
]
test_attention_of_floats = near(each(masked, MASKS, (0, 1)), NEAR)
test_attributes = near({f"{how}": attention(mask=RAW, **how) for how in OTHERS}, NEAR)


def added(*shape: int) -> Net:
    addend = reals(np.random.default_rng(2), *shape, TOKENS, TOKENS)
    return attention(mask=RAW, addend=addend)


test_what_is_added_to_scores = near(each(added, (1, BATCH), (1, HEADS)), NEAR)


QUANTIZED: dict[str, tuple[str, bool, str]] = {
    "int8": ("int8", False, "none"),
    "int8 by column": ("int8", True, "zero"),
    "uint8": ("uint8", False, "one"),
    "uint8 by column": ("uint8", True, "many"),
}
"""The dtype of weights, whether each column has a scale, and their zero points."""


def of_bytes(case: str, mask: Array | None, *, identity: bool = False, **attributes: Any) -> Net:
    """Return a QAttention of data that is quantized when it runs.

    Args:
        case: of QUANTIZED.
        mask: if there is one.
        identity: whether there is one token alone, whose result are its values.
        attributes: of the operator.
    """
    dtype, by_column, points = QUANTIZED[case]
    rng, info = np.random.default_rng(3), np.iinfo(dtype)
    count = (3 * WIDTH,) if by_column else ()
    zero = {"zero": np.zeros(count), "one": np.full(count, 3), "many": rng.integers(0, 9, count)}
    data = {"x": reals(rng, BATCH, 1 if identity else TOKENS, DEPTH)}
    constants = {
        "w": rng.integers(info.min, info.max + 1, (DEPTH, 3 * WIDTH)).astype(dtype),
        "sw": rng.uniform(0.001, 0.01, count).astype(np.float32),
        "b": reals(rng, 3 * WIDTH),
    }
    operands = ["q", "w", "b", "sx", "sw", "_", "zx"]
    if points != "none":
        constants["zw"] = np.asarray(zero[points]).astype(dtype)
        operands.append("zw")
    if mask is not None:
        data["m"], operands[5] = mask, "m"
    nodes: list[Node] = [
        ("DynamicQuantizeLinear", "x", "q sx zx"),
        ("QAttention", " ".join(operands), "y", {"num_heads": HEADS, **attributes}),
    ]
    return Net(nodes, data, constants)


# The softmax of one token is 1, so the result is its value.
test_products_of_bytes_have_every_bit = equal(
    {case: of_bytes(case, None, identity=True) for case in QUANTIZED}
)
SOME = {name: MASKS[name] for name in ("none", "lengths", "of tokens")}
test_attention_of_bytes = near(
    {f"{case}, {name}": of_bytes(case, mask) for case in QUANTIZED for name, mask in SOME.items()},
    NEAR,
)


def test_attention_of_bytes_that_sees_what_was_before() -> None:
    of_bytes("int8", LENGTHS, unidirectional=1).check_near(NEAR)


def heads(*operands: Any, results: int = 1, **attributes: Any) -> Net:
    return one("MultiHeadAttention", *operands, results=results, num_heads=HEADS, **attributes)


@pytest.mark.parametrize("keys", [TOKENS, 5])
@pytest.mark.parametrize(
    ("mask", "has_bias"), [(None, True), ("lengths", False), ("of tokens", True)]
)
def test_heads_of_what_is_computed_before(keys: int, mask: str | None, has_bias: bool) -> None:
    rng = np.random.default_rng(4)
    q = reals(rng, BATCH, TOKENS, WIDTH)
    k, v = (reals(rng, BATCH, keys, WIDTH) for _ in "kv")
    bias = Held(reals(rng, 3 * WIDTH)) if has_bias else None
    lengths = np.array([keys, 3], np.int32) if mask == "lengths" else RAW[:, :keys]
    settings: list[dict[str, Any]] = [{}, {"unidirectional": 1, "scale": 0.3}]
    for attributes in settings:
        if not attributes or keys == TOKENS:
            heads(q, k, v, bias, lengths if mask else None, **attributes).check_near(NEAR)


REFUSED: dict[str, dict[str, Any]] = {
    "do_rotary is not imported": {"do_rotary": 1},
    "num_heads is 0": {"num_heads": 0},
    "past and present keys that share": {"past_present_share_buffer": 1},
    "for 5 heads": {"num_heads": 5},
    "widths": {"qkv_hidden_sizes": [16, 8, 24]},
}


test_attributes_that_are_refused = refused(
    *((reason, attention(**attributes)) for reason, attributes in REFUSED.items()),
    error=UnsupportedOperatorError,
)


def test_beginnings_and_ends_of_sentences() -> None:
    ends_and_starts = np.array([6, 7, 2, 0], np.int32)
    attention(mask=ends_and_starts).check_near(NEAR)
    attention(mask=ends_and_starts, unidirectional=1).check_near(NEAR)


PAST = 3
PAST_MASKS: dict[str, Array | None] = {
    "none": None,
    "lengths": np.array([10, 5], np.int32),
    "of tokens": np.concatenate([np.ones((BATCH, PAST), np.int32), RAW], 1),
}


@pytest.mark.parametrize("is_causal", [0, 1])
@pytest.mark.parametrize("mask", PAST_MASKS)
def test_keys_and_values_of_the_past(mask: str, is_causal: int) -> None:
    past = reals(np.random.default_rng(8), 2, BATCH, HEADS, PAST, WIDTH // HEADS)
    net = attention(mask=PAST_MASKS[mask], past=past, unidirectional=is_causal)
    net.check_near(NEAR)


def test_keys_and_values_that_are_kept() -> None:
    rng = np.random.default_rng(4)
    heads(*(reals(rng, BATCH, TOKENS, WIDTH) for _ in "qkv"), results=3).check_near(NEAR)


@pytest.mark.parametrize("is_causal", [0, 1])
@pytest.mark.parametrize("has_mask", [False, True])
def test_heads_with_a_past(has_mask: bool, is_causal: int) -> None:
    rng = np.random.default_rng(4)
    qkv = [reals(rng, BATCH, TOKENS, WIDTH) for _ in "qkv"]
    mask = np.array([[1] * 8 + [0] * 2, [0] * 2 + [1] * 8], np.int32) if has_mask else None
    past = [reals(rng, BATCH, HEADS, PAST, WIDTH // HEADS) for _ in "kv"]
    operands = (*qkv, Held(reals(rng, 3 * WIDTH)), mask, None, *past)
    heads(*operands, results=3, unidirectional=is_causal).check_near(NEAR)


def test_keys_and_values_that_are_heads() -> None:
    rng = np.random.default_rng(4)
    q = reals(rng, BATCH, TOKENS, WIDTH)
    heads(q, *(reals(rng, BATCH, HEADS, 5, WIDTH // HEADS) for _ in "kv")).check_near(NEAR)


WIDE = reals(np.random.default_rng(5), BATCH, TOKENS, WIDTH)
test_operands_that_are_refused = refused(
    ("a mask of 8 numbers for 2 sentences", attention(mask=np.zeros(3 * BATCH + 2, np.int32))),
    ("a mask of 4 axes", attention(mask=np.zeros((BATCH, 1, 16, 16), np.int32))),
    ("packed", heads(WIDE)),
    error=UnsupportedOperatorError,
)
