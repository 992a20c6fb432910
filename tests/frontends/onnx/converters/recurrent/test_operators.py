"""GRU, LSTM and RNN."""

from typing import Any

import numpy as np
import pytest

import tvm_qnn as qnn
from frontends.errors import UnsupportedOperatorError
from frontends.onnx import from_onnx
from frontends.onnx.source import OnnxSource
from qnn_ops.errors import LeftInFloatWarning
from tests.support.onnx_graphs import (
    Held,
    Net,
    check_equal,
    compiled,
    each,
    equal,
    on_runtime,
    one,
    pair,
    refused,
    steps_apart,
)
from tests.support.onnx_recurrent import DIRECTIONS, recurrent


def directions(*lengths: tuple[int, ...]) -> pytest.MarkDecorator:
    """Run a test forward, in reverse with lengths, and in both directions with and without."""
    both = [("bidirectional", each) for each in (None, *lengths)]
    cases = [("forward", None), ("reverse", lengths[0]), *both]
    return pytest.mark.parametrize(("direction", "lengths"), cases)


@pytest.mark.parametrize("linear", [0, 1])
@directions((5, 0, 3))
def test_equal_to_onnx_runtime(
    direction: str, linear: int, lengths: tuple[int, ...] | None
) -> None:
    model, data = recurrent("GRU", direction=direction, lengths=lengths, linear_before_reset=linear)
    both = direction == "bidirectional" and lengths is not None
    outputs, hidden = check_equal(model, data, primitives=both)
    assert len(np.unique(outputs)) > 20
    assert hidden[:, 1].any() == (lengths is None)


ATTRIBUTES: list[dict[str, Any]] = [
    {"clip": 0.5},
    {"activations": ["Tanh", "Sigmoid"]},
    {"activations": ["Relu", "Relu"], "clip": 0.9},
    {"activations": ["Affine", "LeakyRelu"], "activation_alpha": [0.4], "clip": 1.5},
    {"activations": ["HardSigmoid", "Softsign"]},
]
# Functions of gates are the same where the reset is applied before and after the product.
test_attributes = equal(
    {
        f"{how}": recurrent("GRU", linear_before_reset=number % 2, **how)
        for number, how in enumerate(ATTRIBUTES)
    }
)


@pytest.mark.parametrize(("without", "results"), [("b", "_ h"), ("h", "y"), ("bh", "y h")])
def test_operands_and_results_may_be_left_out(without: str, results: str) -> None:
    for linear in (0, 1):
        model, data = recurrent(
            *("GRU",),
            without=without,
            results=results,
            lengths=(2, 5, 4),
            linear_before_reset=linear,
        )
        check_equal(model, data)


def test_many_products_have_another_order() -> None:
    # ONNX Runtime adds up 256 products at a time: 2^-21 of their sizes, which come to about 400.
    recurrent("GRU", size=700, units=300, steps=2, batch=2).check_near(atol=400 * 2.0**-21)


KINDS = ("LSTM", "DynamicQuantizeLSTM")
BOTH = pytest.mark.parametrize("op", KINDS)


@BOTH
@directions((5, 2, 4), (1, 3, 0))
def test_equal_to_onnx_runtime_of_lstm(
    op: str, direction: str, lengths: tuple[int, ...] | None
) -> None:
    model, data = recurrent(op, direction=direction, lengths=lengths)
    # A length of 0 is there only where both directions are.
    outputs, hidden, cells = check_equal(model, data, primitives=0 in (lengths or ()))
    assert len(np.unique(outputs)) > 20
    if lengths is not None:
        for row, length in enumerate(lengths):
            assert not outputs[length:, :, row].any()
            assert hidden[:, row].any() == cells[:, row].any() == (length > 0)


def of_bytes(dtype: str, per_channel: bool) -> Net:
    how: dict[str, Any] = {"direction": "bidirectional", "units": 33, "size": 40}
    return recurrent("DynamicQuantizeLSTM", dtype=dtype, per_channel=per_channel, **how)


test_weights_of_bytes = equal(each(of_bytes, ("int8", "uint8"), (False, True)))


# Of sequences that end, ONNX Runtime keeps the last hidden values where they are no outputs. They
# count for the range of those that go on.
test_results_may_be_left_out = equal(
    {
        f"{op} {results}": recurrent(op, lengths=(1, 5, 2), results=results, direction="reverse")
        for op in KINDS
        for results in ("_ h c", "y", "_ _ c")
    }
)
test_operands_may_be_left_out = equal(
    {
        f"{op} {without}": recurrent(op, without=without, direction="bidirectional")
        for op in KINDS
        for without in ("b", "hc", "bcp")
    }
)
ATTRIBUTES_OF_LSTM: list[dict[str, Any]] = [
    {"clip": 0.4},
    {"input_forget": 1},
    {"activations": ["sigmoid", "Relu", "Affine"], "activation_alpha": [0.7]},
    {
        "activations": ["HardSigmoid", "LeakyRelu", "Tanh"],
        "activation_alpha": [0.3, 0.2],
        "activation_beta": [0.4],
    },
    {"activations": ["HardSigmoid", "Softsign", "ThresholdedRelu"], "activation_alpha": [0.3]},
]
# Both operators have one converter; only their products differ.
test_attributes_of_lstm = equal(
    {f"{how}": recurrent(KINDS[number % 2], **how) for number, how in enumerate(ATTRIBUTES_OF_LSTM)}
)


@pytest.mark.parametrize("name", ["Elu", "ScaledTanh", "Softplus"])
def test_functions_of_the_c_library_are_near(name: str) -> None:
    # Its exponential and logarithm are not rounded to the nearest number in some cases.
    model, data = recurrent(
        *("LSTM",),
        activations=["Sigmoid", name, "Tanh"],
        activation_alpha=[0.8],
        activation_beta=[0.6],
    )
    for ours, theirs in zip(compiled(model, data), on_runtime(model, data), strict=True):
        assert steps_apart(ours, theirs) <= 64
        assert np.abs(ours - theirs).max() <= 1e-6


def test_lengths_may_be_constants() -> None:
    given = {"l": np.array([3, 1, 3], np.int32)}
    for op in KINDS:
        recurrent(op, given=given, direction="bidirectional").check()


def test_steps_beyond_every_length_have_no_part_in_the_range() -> None:
    model, data = recurrent("DynamicQuantizeLSTM", lengths=(2, 3, 1), direction="reverse")
    data["x"][3:] = 1000
    check_equal(model, data)


@BOTH
def test_one_step_of_one_sequence(op: str) -> None:
    recurrent(op, steps=1, batch=1, direction="bidirectional", lengths=(1,)).check()


def test_many_products_have_another_order_of_lstm() -> None:
    # ONNX Runtime adds up 256 products at a time: 2^-21 of their sizes, which come to about 400.
    recurrent("LSTM", size=700, units=300, steps=2, batch=2).check_near(atol=400 * 2.0**-21)
    recurrent("DynamicQuantizeLSTM", size=700, units=300, steps=2, batch=2).check()


def test_quantize_dynamic(tmp_path: Any) -> None:
    pytest.importorskip("onnxruntime.quantization", reason="onnxruntime has no quantization")
    import onnx
    from onnxruntime.quantization import quantize_dynamic

    rng = np.random.default_rng(3)

    def reals(*shape: int) -> Any:
        return rng.normal(0, 0.3, shape).astype(np.float32)

    data = {"x": reals(6, 2, 20) * 4}
    constants = {"w": reals(2, 128, 20), "r": reals(2, 128, 32), "b": reals(2, 256)}
    constants["m"] = reals(32, 10)
    nodes = [
        ("LSTM", "x w r b", "y", {"hidden_size": 32, "direction": "bidirectional"}),
        ("MatMul", "y m", "z"),
    ]
    onnx.save(Net(nodes, data, constants).model, tmp_path / "float.onnx")
    for per_channel in (False, True):
        target = tmp_path / f"{per_channel}.onnx"
        quantize_dynamic(tmp_path / "float.onnx", target, per_channel=per_channel)
        model = onnx.load(target)
        kinds = {node.op_type for node in model.graph.node}
        assert {"DynamicQuantizeLSTM", "MatMulInteger"} <= kinds
        check_equal(model, data)
        lstm = OnnxSource(model).summary("lstm").operators[0]
        assert (lstm.code, lstm.lowering) == ("DynamicQuantizeLSTM", "integer")


def test_beside_quantized_operators() -> None:
    scales = {"s": np.float32(0.02), "z": np.int8(3), "t": np.float32(1 / 128), "o": np.int8(-5)}
    rng = np.random.default_rng(1)
    constants = {
        **scales,
        "w": rng.normal(0, 0.5, (1, 32, 6)).astype(np.float32),
        "r": rng.normal(0, 0.5, (1, 32, 8)).astype(np.float32),
    }
    nodes = [
        *pair("x s z", "d"),
        ("LSTM", "d w r", "y _ c", {"hidden_size": 8}),
        ("QuantizeLinear", "y t o", "p"),
    ]
    data = {"x": rng.normal(0, 1, (4, 2, 6)).astype(np.float32)}
    model = Net(nodes, data, constants, ["p", "c"]).model
    with pytest.warns(LeftInFloatWarning, match="an operand is float"):
        library = qnn.build(from_onnx(model)[0], "host")
    for ours, theirs in zip(library.run(data["x"]).values(), on_runtime(model, data), strict=True):
        np.testing.assert_array_equal(ours, theirs)


REFUSED: dict[str, dict[str, Any]] = {
    "layout is 1": {"layout": 1},
    "clip is 0.0, must be positive": {"clip": 0.0},
    "direction is 'sideways'": {"direction": "sideways"},
    "activations have 'Sine'": {"activations": ["Sine", "Tanh", "Tanh"]},
    "activations are 2, needs 3": {"activations": ["Tanh", "Tanh"]},
    "hidden_size must be stated, and positive": {"hidden_size": 0},
}


test_attributes_that_are_refused = refused(
    *(
        (reason, recurrent(op, **attributes))
        for reason, attributes in REFUSED.items()
        for op in KINDS
    ),
    error=UnsupportedOperatorError,
)


def of_constants(op: str, **given: Any) -> Net:
    return recurrent(op, given=given)


POINTS = np.arange(28, dtype=np.uint8).reshape(1, 28)
BYTES: dict[str, Any] = {"dtype": "uint8", "per_channel": True}
test_constants_that_do_not_fit = refused(
    ("W has shape .*, needs .1, 28, 9.", of_constants("LSTM", w=np.zeros((1, 28, 8), "f"))),
    ("R has shape .*, needs .1, 28, 7.", of_constants("LSTM", r=np.zeros((1, 27, 7), "f"))),
    ("B has shape .*, needs .1, 56.", of_constants("LSTM", b=np.zeros((1, 28), "f"))),
    ("P has shape .*, needs .1, 21.", of_constants("LSTM", p=np.zeros((1, 7), "f"))),
    ("W has scales of shape .2.", of_constants("DynamicQuantizeLSTM", ws=np.ones(2, "f"))),
    ("zero points of shape .2.", of_constants("DynamicQuantizeLSTM", rz=np.ones(2, np.int8))),
    (
        "W has zero points that differ",
        recurrent("DynamicQuantizeLSTM", given={"wz": POINTS}, **BYTES),
    ),
    ("sequence_lens has", of_constants("LSTM", l=np.array([1, 6, 2], np.int32))),
    ("sequence_lens has", of_constants("LSTM", l=np.array([-1, 2, 2], np.int32))),
    (r"GRU.*activations are 1, needs 2", recurrent("GRU", activations=["Tanh"])),
    error=UnsupportedOperatorError,
)


STEPS = np.zeros((2, 1, 3), np.float32), np.zeros((1, 8, 3), np.float32)
test_weights_must_be_constants = refused(
    (
        r"LSTM.*W must be a constant",
        one("LSTM", *STEPS, Held(np.zeros((1, 8, 2), np.float32)), hidden_size=2),
    ),
    error=UnsupportedOperatorError,
)


@directions((5, 1, 3))
def test_equal_to_onnx_runtime_of_rnn(direction: str, lengths: tuple[int, ...] | None) -> None:
    names = ["HardSigmoid", "Softsign"][: DIRECTIONS[direction]]
    model, data = recurrent("RNN", direction=direction, lengths=lengths, activations=names)
    outputs, hidden = check_equal(model, data, primitives=direction == "bidirectional")
    assert len(np.unique(outputs)) > 20
    assert hidden.any()


def test_functions_of_the_c_library_are_near_of_rnn() -> None:
    # Its exponential is not rounded to the nearest number in some cases.
    direction = "bidirectional"
    numbers: dict[str, Any] = {"activation_alpha": [0.7, 0.9], "activation_beta": [0.4, 0.3]}
    for names in (["Tanh", "Tanh"], ["Sigmoid", "ScaledTanh"]):
        model, data = recurrent("RNN", direction=direction, activations=names, **numbers)
        for ours, theirs in zip(compiled(model, data), on_runtime(model, data), strict=True):
            assert np.abs(ours - theirs).max() <= 2.0**-21
            assert (ours == theirs).mean() > 0.8


def test_one_row_is_added_up_in_another_order() -> None:
    # ONNX Runtime has vectors along the products there, not along the units.
    recurrent("RNN", batch=1, activations=["Relu"]).check_near(2.0**-20)


ATTRIBUTES_OF_RNN: list[dict[str, Any]] = [
    {"clip": 0.5, "activations": ["Relu"]},
    {"clip": -1.0, "activations": ["Softsign"]},
    {"activations": ["LeakyRelu", "Tanh"]},
    {"activations": ["HardSigmoid"]},
    {"activations": ["Softsign"], "without": "bh", "results": "_ h"},
    {"activations": ["Softsign"], "without": "h", "results": "y"},
]
test_attributes_of_rnn = equal({f"{how}": recurrent("RNN", **how) for how in ATTRIBUTES_OF_RNN})
