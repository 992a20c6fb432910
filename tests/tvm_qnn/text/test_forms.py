from typing import Any

import pytest

from qnn_ops.errors import QnnError
from tests.support.decoders import SIZES, grouped, plain
from tests.support.errors import fails
from tvm_qnn.text.forms import read_form


def renamed(model: Any, old: str, new: str) -> Any:
    for node in model.graph.node:
        for names in (node.input, node.output):
            names[:] = [new if name == old else name for name in names]
    for value in (*model.graph.input, *model.graph.output):
        value.name = new if value.name == old else value.name
    return model


def test_pasts_and_positions_are_read() -> None:
    form = read_form(grouped())
    names = [f"past_key_values.{n}.{kind}" for n in range(2) for kind in ("key", "value")]
    assert form.pasts == dict.fromkeys(names, (1, SIZES.shared, 0, SIZES.head))
    assert (form.places, form.begins) == (SIZES.length, True)
    assert (form.length(None), form.length(7)) == (SIZES.length, 7)
    other = read_form(plain())
    assert (other.places, other.begins, other.length(None)) == (None, False, 512)


def test_missing_and_unknown_inputs_and_pasts_are_named() -> None:
    model = renamed(grouped(), "input_ids", "tokens")
    model = renamed(model, "past_key_values.1.key", "cache")
    with pytest.raises(QnnError) as raised:
        read_form(model)
    assert str(raised.value) == (
        "decoder: this model has inputs that are missing: input_ids, past_key_values.1.key; "
        "inputs that are unknown: cache, tokens"
    )
    model = renamed(grouped(), "present.0.value", "v")
    fails(r"outputs that are missing: present\.0\.value$", read_form, model)
    model = grouped()
    kept = [value for value in model.graph.input if not value.name.startswith("past")]
    del model.graph.input[:]
    model.graph.input.extend(kept)
    for node in model.graph.node:
        if node.op_type == "GroupQueryAttention":
            node.input[3:5] = ["", ""]
    fails(r"missing: past_key_values\.0\.key, past_key_values\.0\.v", read_form, model)
    model = plain()
    node = next(node for node in model.graph.node if node.output[0] == "present.1.key")
    node.input[:] = [*node.input][::-1]
    fails(r"output 'present\.1\.key' is neither of an attention", read_form(model).step, 1, 8)


@pytest.mark.parametrize("most", [0, SIZES.length + 1])
def test_lengths_beyond_the_positions_are_an_error(most: int) -> None:
    fails(f"max_length is 1 to 96 for this model, got {most}", read_form(grouped()).length, most)
