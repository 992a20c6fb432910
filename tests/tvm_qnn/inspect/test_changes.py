from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from frontends.formats import read_model
from frontends.summary import OperatorInfo, Summary, TensorNote
from tests.support.errors import fails
from tvm_qnn import digits
from tvm_qnn.inspect.changes import Described, changes_of

Layer = tuple[str, str, Sequence[str]]  # code, output, inputs


def graph(
    layers: Sequence[Layer], constants: Mapping[str, np.ndarray] | None = None, **given: Any
) -> Described:
    """Describe a graph of x, whose last layer gives its output."""
    held = constants or {}
    notes: dict[str, TensorNote] = {}

    def note(name: str) -> TensorNote:
        is_held = name in held
        shape = held[name].shape if is_held else (1, 4)
        made = TensorNote(len(notes), name, shape, "int8", is_constant=is_held, scales=(0.5,))
        return notes.setdefault(name, made)

    x = note("x")
    operators = tuple(
        OperatorInfo(n, code, out, tuple(map(note, inputs)), (note(out),), given.get(out, {}))
        for n, (code, out, inputs) in enumerate(layers)
    )
    summary = Summary("m", "TFLite", (x,), operators[-1].outputs, operators, 0, 0)
    return Described(summary, {notes[name].index: array for name, array in held.items()})


CHAIN: list[Layer] = [("CONV_2D", "a", "xw"), ("RELU", "b", "a"), ("SOFTMAX", "c", "b")]
WEIGHTS = {"w": np.arange(8, dtype=np.int8)}


def test_other_names_orders_and_the_same_model_are_no_change() -> None:
    found = changes_of(graph(CHAIN, WEIGHTS), graph(CHAIN, WEIGHTS))
    assert found.partners == {0: 0, 1: 1, 2: 2}
    assert (found.changed, found.added, found.removed) == ((), (), ())
    renamed: list[Layer] = [("CONV_2D", "p", "xw"), ("RELU", "q", "p"), ("SOFTMAX", "r", "q")]
    found = changes_of(graph(renamed, WEIGHTS), graph(CHAIN, WEIGHTS))
    assert (found.changed, found.added, found.removed) == ((), (), ())
    branches: list[Layer] = [("RELU", n, "x") for n in "abcde"]
    end: Layer = ("CONCATENATION", "y", "abcde")
    found = changes_of(graph([*branches[::-1], end]), graph([*branches, end]))
    assert (found.changed, found.added, found.removed) == ((), (), ())
    assert found.partners == {0: 4, 1: 3, 2: 2, 3: 1, 4: 0, 5: 5}


def test_what_is_new_gone_or_of_another_kind() -> None:
    shorter = [CHAIN[0], ("SOFTMAX", "c", "a")]
    found = changes_of(graph(CHAIN, WEIGHTS), graph(shorter, WEIGHTS))
    assert (found.partners, found.changed, found.added) == ({0: 0, 2: 1}, (), (1,))
    found = changes_of(graph(shorter, WEIGHTS), graph(CHAIN, WEIGHTS))
    assert (found.partners, found.changed, found.removed) == ({0: 0, 1: 2}, (), (1,))
    other = [CHAIN[0], ("TANH", "b", "a"), CHAIN[2]]
    found = changes_of(graph(CHAIN), graph(other))
    assert found.changes[1] == (("kind", "RELU, was TANH"),)


def test_values_attributes_and_operands_are_told() -> None:
    old = graph([*CHAIN, ("ADD", "d", "bc")], WEIGHTS, c={"beta": 1.0})
    other = {"w": np.array([0, 1, 2, 3, 4, 5, 0, 0], np.int8)}
    new = graph([*CHAIN, ("ADD", "d", "cb")], other, c={"beta": 2.0})
    found = changes_of(new, old)
    assert found.changes[0] == (("values", "input 1: 2 of 8 elements differ"),)
    assert found.changes[1] == ()
    assert found.changes[2] == (("attributes", "beta 2.0, was 1.0"),)
    assert found.changes[3] == (
        ("operands", "input 0 is c, was b"),
        ("operands", "input 1 is b, was c"),
    )


def test_types_and_quantization_of_real_models() -> None:
    sources = [read_model(digits.model(style)) for style in ("int8", "uint8")]
    signed, unsigned = (Described(s.summary("m"), s.constants()) for s in sources)
    found = changes_of(signed, unsigned)
    assert found.changed == tuple(range(len(signed.summary.operators)))
    assert {change.what for change in found.changes[0]} == {"types", "quantization", "values"}
    assert "input 0: int8, was uint8" in [change.text for change in found.changes[0]]


def test_models_of_two_formats_are_refused() -> None:
    model = graph(CHAIN)
    other = model._replace(summary=Summary("n", "ONNX", (), (), (), 0, 0))
    fails(r"one format .* m is of TFLite, n of ONNX", changes_of, model, other)
