"""ONNX Runtime's own forms of attention, against it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from frontends.errors import UnsupportedOperatorError
from frontends.onnx import from_onnx
from tests.support.onnx_graphs import Array, Node, check_equal, compiled, model_of, on_runtime, onnx

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


def check_near(model: Any, data: Mapping[str, Array]) -> None:
    """Compare results, which are means of values that lie around 1.

    Scores are sums in another order, and ONNX Runtime's exponential is another polynomial: 2^-20
    of the largest result. Scores of tokens that are all hidden are rounded to 2^-10 beside the
    -10,000 of the mask, and rarely are one such step apart.
    """
    ours, theirs = compiled(model, data)[0], on_runtime(model, data)[0]
    assert ours.shape == theirs.shape
    assert np.abs(ours - theirs).max() <= 2.0**-20 * np.abs(theirs).max()


def attention(
    *, mask: Array | None = None, addend: Array | None = None, **attributes: Any
) -> tuple[Any, dict[str, Array]]:
    rng = np.random.default_rng(1)
    widths = attributes.get("qkv_hidden_sizes", [WIDTH] * 3)
    data = {"x": reals(rng, BATCH, TOKENS, DEPTH)}
    constants = {
        "w": reals(rng, DEPTH, sum(widths)) * np.float32(0.3),
        "b": reals(rng, sum(widths)),
    }
    operands = ["x", "w", "b", "_", "_", "_"]
    if mask is not None:
        data["m"], operands[3] = mask, "m"
    if addend is not None:
        data["a"], operands[5] = addend, "a"
    node = ("Attention", " ".join(operands), "y", {"num_heads": HEADS, **attributes})
    return model_of([node], data, ["y"], constants), data


@pytest.mark.parametrize("is_causal", [0, 1])
@pytest.mark.parametrize("mask", MASKS)
def test_attention_of_floats(mask: str, is_causal: int) -> None:
    check_near(*attention(mask=MASKS[mask], unidirectional=is_causal))


@pytest.mark.parametrize(
    "attributes",
    [{"scale": 0.7}, {"mask_filter_value": -3.5}, {"qkv_hidden_sizes": [8, 8, 20]}],
    ids=str,
)
def test_attributes(attributes: dict[str, Any]) -> None:
    check_near(*attention(mask=RAW, **attributes))


@pytest.mark.parametrize("shape", [(1, 1), (BATCH, 1), (1, HEADS), (BATCH, HEADS)])
def test_what_is_added_to_scores(shape: tuple[int, int]) -> None:
    addend = reals(np.random.default_rng(2), *shape, TOKENS, TOKENS)
    check_near(*attention(mask=RAW, addend=addend))


QUANTIZED: dict[str, tuple[str, bool, str]] = {
    "int8": ("int8", False, "none"),
    "int8 by column": ("int8", True, "zero"),
    "uint8": ("uint8", False, "one"),
    "uint8 by column": ("uint8", True, "many"),
}
"""The dtype of weights, whether each column has a scale, and their zero points."""


def of_bytes(
    case: str, mask: Array | None, *, identity: bool = False, **attributes: Any
) -> tuple[Any, dict[str, Array]]:
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
        ("DynamicQuantizeLinear", "x", "q sx zx", {}),
        ("QAttention", " ".join(operands), "y", {"num_heads": HEADS, **attributes}),
    ]
    return model_of(nodes, data, ["y"], constants), data


@pytest.mark.parametrize("case", QUANTIZED)
def test_products_of_bytes_have_every_bit(case: str) -> None:
    # The softmax of one token is 1, so the result is its value.
    check_equal(*of_bytes(case, None, identity=True))


@pytest.mark.parametrize("case", QUANTIZED)
@pytest.mark.parametrize("mask", ["none", "lengths", "of tokens"])
def test_attention_of_bytes(case: str, mask: str) -> None:
    check_near(*of_bytes(case, MASKS[mask]))


def test_attention_of_bytes_that_sees_what_was_before() -> None:
    check_near(*of_bytes("int8", LENGTHS, unidirectional=1))


@pytest.mark.parametrize("keys", [TOKENS, 5])
@pytest.mark.parametrize(
    ("mask", "has_bias"), [(None, True), ("lengths", False), ("of tokens", True)]
)
def test_heads_of_what_is_computed_before(keys: int, mask: str | None, has_bias: bool) -> None:
    rng = np.random.default_rng(4)
    data = {"q": reals(rng, BATCH, TOKENS, WIDTH)}
    data |= {name: reals(rng, BATCH, keys, WIDTH) for name in "kv"}
    constants = {"b": reals(rng, 3 * WIDTH)} if has_bias else {}
    if mask:
        data["m"] = np.array([keys, 3], np.int32) if mask == "lengths" else RAW[:, :keys]
    operands = f"q k v {'b' if has_bias else '_'} {'m' if mask else '_'}"
    for attributes in ({}, {"unidirectional": 1, "scale": 0.3}):
        if attributes and keys != TOKENS:
            continue
        node = ("MultiHeadAttention", operands, "y", {"num_heads": HEADS, **attributes})
        check_near(model_of([node], data, ["y"], constants), data)


REFUSED: dict[str, dict[str, Any]] = {
    "do_rotary is not imported": {"do_rotary": 1},
    "num_heads is 0": {"num_heads": 0},
    "past and present keys that share": {"past_present_share_buffer": 1},
    "for 5 heads": {"num_heads": 5},
    "widths": {"qkv_hidden_sizes": [16, 8, 24]},
}


@pytest.mark.parametrize("reason", REFUSED)
def test_attributes_that_are_refused(reason: str) -> None:
    model, _ = attention()
    (node,) = model.graph.node
    for name, value in REFUSED[reason].items():
        kept = [each for each in node.attribute if each.name != name]
        del node.attribute[:]
        node.attribute.extend([*kept, onnx.helper.make_attribute(name, value)])
    with pytest.raises(UnsupportedOperatorError, match=reason):
        from_onnx(model)


def test_beginnings_and_ends_of_sentences() -> None:
    ends_and_starts = np.array([6, 7, 2, 0], np.int32)
    check_near(*attention(mask=ends_and_starts))
    check_near(*attention(mask=ends_and_starts, unidirectional=1))


def test_a_mask_of_another_length_is_refused() -> None:
    model, _ = attention(mask=LENGTHS)
    model.graph.input[1].type.tensor_type.shape.dim[0].dim_value = 3 * BATCH + 2
    with pytest.raises(UnsupportedOperatorError, match="a mask of 8 numbers for 2 sentences"):
        from_onnx(model)


PAST = 3
PAST_MASKS: dict[str, Array | None] = {
    "none": None,
    "lengths": np.array([10, 5], np.int32),
    "of tokens": np.concatenate([np.ones((BATCH, PAST), np.int32), RAW], 1),
}


def check_all_near(model: Any, data: Mapping[str, Array]) -> None:
    """Compare the result, and every bit of the kept tensors except for the order of sums."""
    ours, theirs = compiled(model, data), on_runtime(model, data)
    assert [each.shape for each in ours] == [each.shape for each in theirs]
    for mine, other in zip(ours, theirs, strict=True):
        assert np.abs(mine - other).max() <= 2.0**-20 * np.abs(other).max()


@pytest.mark.parametrize("is_causal", [0, 1])
@pytest.mark.parametrize("mask", PAST_MASKS)
def test_keys_and_values_of_the_past(mask: str, is_causal: int) -> None:
    model, data = attention(unidirectional=is_causal)
    rng = np.random.default_rng(8)
    data["p"] = reals(rng, 2, BATCH, HEADS, PAST, WIDTH // HEADS)
    operands = ["x", "w", "b", "_", "p"]
    if (given := PAST_MASKS[mask]) is not None:
        data["m"], operands[3] = given, "m"
    constants = {each.name: onnx.numpy_helper.to_array(each) for each in model.graph.initializer}
    attributes = {"num_heads": HEADS, "unidirectional": is_causal}
    node = ("Attention", " ".join(operands), "y present", attributes)
    check_all_near(model_of([node], data, ["y", "present"], constants), data)


def test_keys_and_values_that_are_kept() -> None:
    rng = np.random.default_rng(4)
    data = {name: reals(rng, BATCH, TOKENS, WIDTH) for name in "qkv"}
    node: Node = ("MultiHeadAttention", "q k v", "y pk pv", {"num_heads": HEADS})
    check_all_near(model_of([node], data, ["y", "pk", "pv"], {}), data)


@pytest.mark.parametrize("is_causal", [0, 1])
@pytest.mark.parametrize("has_mask", [False, True])
def test_heads_with_a_past(has_mask: bool, is_causal: int) -> None:
    rng = np.random.default_rng(4)
    data = {name: reals(rng, BATCH, TOKENS, WIDTH) for name in "qkv"}
    if has_mask:
        data["m"] = np.array([[1] * 8 + [0] * 2, [0] * 2 + [1] * 8], np.int32)
    data |= {name: reals(rng, BATCH, HEADS, PAST, WIDTH // HEADS) for name in ("a", "c")}
    constants = {"b": reals(rng, 3 * WIDTH)}
    operands = f"q k v b {'m' if has_mask else '_'} _ a c"
    attributes = {"num_heads": HEADS, "unidirectional": is_causal}
    node: Node = ("MultiHeadAttention", operands, "y pk pv", attributes)
    check_all_near(model_of([node], data, ["y", "pk", "pv"], constants), data)


def test_keys_and_values_that_are_heads() -> None:
    rng = np.random.default_rng(4)
    data = {"q": reals(rng, BATCH, TOKENS, WIDTH)}
    data |= {name: reals(rng, BATCH, HEADS, 5, WIDTH // HEADS) for name in "kv"}
    node: Node = ("MultiHeadAttention", "q k v", "y", {"num_heads": HEADS})
    check_near(model_of([node], data, ["y"], {}), data)


def test_masks_of_four_axes_are_refused() -> None:
    model, _ = attention(mask=LENGTHS)
    shape = [BATCH, 1, 16, 16]
    kind = onnx.TensorProto.INT32
    model.graph.input[1].CopyFrom(onnx.helper.make_tensor_value_info("m", kind, shape))
    with pytest.raises(UnsupportedOperatorError, match="a mask of 4 axes"):
        from_onnx(model)


def test_packed_keys_are_refused() -> None:
    rng = np.random.default_rng(5)
    data = {name: reals(rng, BATCH, TOKENS, WIDTH) for name in "qkv"}
    node: Node = ("MultiHeadAttention", "q k v", "y", {"num_heads": HEADS})
    model = model_of([node], data, ["y"], {})
    del model.graph.node[0].input[1:]
    with pytest.raises(UnsupportedOperatorError, match="packed"):
        from_onnx(model)
