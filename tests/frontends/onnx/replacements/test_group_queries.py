"""Attention of large language models, against ONNX Runtime."""

from typing import Any

import numpy as np
import pytest
from tvm import relax

import tvm_qnn as qnn
from frontends.errors import UnsupportedOperatorError
from frontends.onnx import from_onnx
from frontends.onnx.replacements.group_queries import STEP
from legalize import lower
from legalize.kernels.softmax.floats import DESCRIPTION, Kernel
from tests.support.errors import fails
from tests.support.onnx_graphs import Array, Net, compiled, near, on_runtime, onnx
from tvm_qnn.target.target import parse_target

HEADS, SHARED, WIDTH, PLACES = 4, 2, 16, 40


def model(
    tokens: int,
    past: int,
    lengths: list[int],
    *,
    is_packed: bool = False,
    is_rotated: bool = False,
    has_places: bool = False,
    bias: tuple[int, int] = (0, 0),
    has_sinks: bool = False,
    total: int = 0,
    **attributes: Any,
) -> Net:
    """Return a model of one attention, and data of it.

    Args:
        tokens: of queries.
        past: room for earlier tokens.
        lengths: tokens of each sentence.
        is_packed: whether queries, keys and values are one tensor.
        is_rotated: whether they are rotated.
        has_places: whether the positions for the rotation are given.
        bias: batch and heads of the bias that is added to scores; 0 for none.
        has_sinks: whether a score of one more token is given for each head.
        total: tokens of the longest sentence, if it is not that of ``lengths``.
        attributes: of the operator.
    """
    rng, batch = np.random.default_rng(1), len(lengths)

    def reals(*shape: int) -> Array:
        return rng.normal(0, 1, shape).astype(np.float32)

    data = {
        "q": reals(batch, tokens, HEADS * WIDTH),
        "k": reals(batch, tokens, SHARED * WIDTH),
        "v": reals(batch, tokens, SHARED * WIDTH),
    }
    operands = "q k v a b l t"
    if is_packed:
        data = {"q": np.concatenate([data["q"], data["k"], data["v"]], 2)}
        operands = "q _ _ a b l t"
    if past:
        data |= {name: reals(batch, SHARED, past, WIDTH) for name in ("a", "b")}
    else:
        operands = operands.replace("a b", "_ _")
    data["l"] = np.array(lengths, np.int32) - 1
    constants: dict[str, Array] = {"t": np.array(total or max(lengths), np.int32)}
    if is_rotated:
        angles = rng.uniform(0, 6, (PLACES, WIDTH // 2)).astype(np.float32)
        constants |= {"c": np.cos(angles), "s": np.sin(angles)}
        operands += " c s"
        attributes["do_rotary"] = 1
    words = [*operands.split(), *"_____"][:12]
    if has_places:
        data["p"] = rng.integers(0, PLACES, (batch, tokens))
        words[9] = "p"
    if all(bias):
        data["bias"] = reals(*bias, tokens, max(lengths))
        words[10] = "bias"
    if has_sinks:
        constants["sinks"] = reals(HEADS)
        words[11] = "sinks"
    while words[-1] == "_":
        words.pop()
    operands = " ".join(words)
    attributes |= {"num_heads": HEADS, "kv_num_heads": SHARED}
    node = ("GroupQueryAttention", operands, "y pk pv", attributes)
    return Net([node], data, constants)


CASES = {
    "a first run": model(6, 0, [6]),
    "a first run, packed": model(6, 0, [6, 6], is_packed=True),
    "a first run, rotated": model(6, 0, [6], is_rotated=True),
    "a first run into memory that is there": model(4, 9, [4]),
    "one token more": model(1, 5, [6]),
    "one token, rotated, packed": model(1, 5, [6], is_rotated=True, is_packed=True),
    "one token, interleaved": model(1, 5, [6], is_rotated=True, rotary_interleaved=1),
    "memory with space": model(1, 12, [6]),
    "sentences of other lengths": model(1, 8, [6, 3]),
    "several tokens more": model(3, 5, [8], is_rotated=True),
    "a window": model(1, 12, [11], local_window_size=4),
    "a window of a first run": model(9, 0, [9], local_window_size=3),
    "given places of a first run": model(6, 0, [6, 6], is_rotated=True, has_places=True),
    "given places": model(1, 5, [6, 4], is_rotated=True, has_places=True),
    "given places of several tokens more": model(3, 5, [8], is_rotated=True, has_places=True),
    "a bias": model(6, 0, [6, 6], bias=(2, HEADS)),
    "a bias for all": model(1, 5, [6], bias=(1, 1)),
    "a bias and memory with space": model(1, 9, [6], bias=(1, HEADS)),
    "a bias, bounded": model(3, 5, [8], bias=(1, HEADS), softcap=0.5),
    "one more token": model(6, 0, [6], smooth_softmax=1),
    "sinks": model(6, 0, [6], has_sinks=True),
    "sinks of a window": model(1, 12, [11, 7], has_sinks=True, local_window_size=4),
    "bounded scores": model(6, 0, [6], softcap=0.5, scale=0.4),
}


# As tests/frontends/onnx/replacements/test_attentions.py says.
test_near_onnx_runtime = near(CASES, 2.0**-20)


def test_padding_of_a_first_run() -> None:
    """Results of tokens that are padding are those of nothing in particular."""
    net, data = model(tokens=6, past=0, lengths=[6, 4])
    ours, theirs = compiled(net, data)[0], on_runtime(net, data)[0]
    for sentence, length in enumerate((6, 4)):
        mine, other = ours[sentence, :length], theirs[sentence, :length]
        assert np.abs(mine - other).max() <= 2.0**-20 * np.abs(other).max()


def test_a_first_run_has_an_empty_past() -> None:
    """The shape of the queries follows from an operator that the package onnx does not know."""
    net, data = model(tokens=4, past=9, lengths=[4], is_rotated=True)
    norm = onnx.helper.make_node("SimplifiedLayerNormalization", ["q", "ones"], ["n"])
    net.graph.node[0].input[0] = "n"
    net.graph.node.insert(0, norm)
    ones = np.ones(HEADS * WIDTH, np.float32)
    net.graph.initializer.append(onnx.numpy_helper.from_array(ones, "ones"))
    for value in net.graph.input:
        if value.name in ("a", "b"):
            value.type.tensor_type.shape.dim[2].dim_param = f"length of {value.name}"
    data |= {name: data[name][:, :, :0] for name in ("a", "b")}
    mod, params = from_onnx(net, {name: data[name].shape for name in ("a", "b")})
    ours = qnn.build(mod, "host", params).run(data).values()
    for mine, other in zip(ours, on_runtime(net, data), strict=True):
        assert mine.shape == other.shape
        assert np.abs(mine - other).max() <= 2.0**-20 * np.abs(other).max()


def test_what_is_refused() -> None:
    net, _ = model(tokens=2, past=0, lengths=[2])
    net.graph.node[0].input.extend(["", "", "", "", "", "q"])
    fails("scales of keys and values", from_onnx, net, error=UnsupportedOperatorError)
    net, _ = model(tokens=2, past=0, lengths=[2], bias=(1, 1))
    (bias,) = (value for value in net.graph.input if value.name == "bias")
    bias.type.tensor_type.shape.dim[3].dim_value = 4
    fails(r"a bias of shape \[1, 1, 2, 4\] for", from_onnx, net, error=UnsupportedOperatorError)


def test_a_length_that_the_run_tells_is_refused() -> None:
    net, _ = model(tokens=2, past=0, lengths=[2])
    (total,) = net.graph.initializer
    kind = total.data_type
    del net.graph.initializer[:]
    net.graph.input.append(onnx.helper.make_tensor_value_info("t", kind, []))
    fails("'t' must be a constant", from_onnx, net, error=UnsupportedOperatorError)


PAST, TOKENS, LENGTH = 12, 3, 7


def test_the_softmax_of_a_prompt_knows_what_is_hidden() -> None:
    """The products around it leave that out."""
    prompt, _ = model(tokens=8, past=0, lengths=[8])
    mod, params = from_onnx(prompt)
    target = parse_target("x86-avx512")  # its vectors are too long for a kernel of attention
    lowered = lower(relax.transform.BindParams("main", params)(mod), target)
    attrs = [each.attrs or {} for each in lowered.functions.values()]
    (text,) = (each[DESCRIPTION] for each in attrs if DESCRIPTION in each)
    assert Kernel.described(text).is_causal


def step_of(whole: Any, data: dict[str, Array]) -> tuple[Any, dict[str, Array]]:
    """Return the model of a step, and its data, of one of a whole buffer."""
    proto = type(whole)()
    proto.CopyFrom(whole)
    (node,) = (node for node in proto.graph.node if node.op_type == "GroupQueryAttention")
    node.attribute.append(onnx.helper.make_attribute(STEP, 1))
    columns = np.ascontiguousarray(data["a"].swapaxes(2, 3))
    for value in proto.graph.input:
        if value.name == "a":
            for dim, size in zip(value.type.tensor_type.shape.dim, columns.shape, strict=True):
                dim.dim_value = size
    return proto, {**data, "a": columns}


SETTINGS: list[dict[str, Any]] = [
    *({}, {"is_rotated": True}, {"local_window_size": 4}, {"softcap": 2.0}, {"scale": 0.1}),
    *({"has_sinks": True}, {"smooth_softmax": 1}, {"is_packed": True}),
]


@pytest.mark.parametrize(
    ("tokens", "settings"),
    [*((TOKENS, each) for each in SETTINGS), *((1, each) for each in SETTINGS[:3])],
    ids=str,
)
def test_a_step_is_attention_with_a_past(tokens: int, settings: dict[str, Any]) -> None:
    whole, data = model(tokens=tokens, past=PAST, lengths=[LENGTH], total=PAST, **settings)
    expected = on_runtime(whole, data)
    found = compiled(*step_of(whole, data))
    np.testing.assert_allclose(found[0], expected[0], atol=1e-5)
    for new, present in zip(found[1:], expected[1:], strict=True):
        np.testing.assert_allclose(new, present[:, :, LENGTH - tokens : LENGTH], atol=1e-6)


def test_what_lies_behind_the_past_is_not_read() -> None:
    whole, data = model(tokens=TOKENS, past=PAST, lengths=[LENGTH], total=PAST)
    step, given = step_of(whole, data)
    changed = {name: array.copy() for name, array in given.items()}
    changed["a"][..., LENGTH - TOKENS :] = 100
    changed["b"][:, :, LENGTH - TOKENS :] = -100
    for one, other in zip(compiled(step, given), compiled(step, changed), strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_bias_of_scores_is_refused() -> None:
    settings: dict[str, Any] = {"past": PAST, "lengths": [LENGTH], "bias": (1, 1)}
    whole, data = model(tokens=TOKENS, **settings)
    step, given = step_of(whole, data)
    fails("a step with a bias of scores", compiled, step, given, error=UnsupportedOperatorError)
