"""Inputs whose values are given at import, against ONNX Runtime."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

import tvm_qnn as qnn
from frontends.onnx import from_onnx
from qnn_ops.errors import QnnError
from tests.support.onnx_graphs import on_runtime, onnx

Array = np.ndarray[Any, Any]
X = np.arange(16, dtype=np.float32).reshape(2, 8)
PAST = np.ones((3, 8), np.float32)


def decoder() -> Any:
    """Return a decoder that joins what it is given to a past if it shall."""
    model: Any = onnx.parser.parse_model("""
        <ir_version: 8, opset_import: ["" : 17]>
        g (float[s, 8] x, float[p, 8] past, bool[1] use, int64 rate)
        => (float[n, 8] y, float[k] z) {
            joined = If (use) <
                then_branch = t () => (float[a, 8] j) { j = Concat <axis = 0> (past, x) },
                else_branch = e () => (float[b, 8] i) { i = Identity (x) }
            >
            y = Relu (joined)
            limit = Constant <value = int64 {16000}> ()
            is_known = Equal (rate, limit)
            z = If (is_known) <
                then_branch = q () => (float[c] f) {
                    flat = Constant <value = int64[1] {16}> ()
                    f = Reshape (x, flat)
                },
                else_branch = r () => (float[d] h) {
                    seven = Constant <value = int64[1] {7}> ()
                    h = Reshape (x, seven)
                }
            >
        }
    """)
    return model


def check(values: Mapping[str, Any], inputs: Mapping[str, Array]) -> None:
    """Compare; those of the inputs that are no values have their shapes from here."""
    model, left = decoder(), {name: inputs[name] for name in inputs if name not in values}
    mod, params = from_onnx(model, {k: v.shape for k, v in left.items()}, values=values)
    results = qnn.build(mod, "host", params).run(*left.values()).values()
    for ours, theirs in zip(results, on_runtime(model, inputs), strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("use", [True, False])
@pytest.mark.parametrize("past", [PAST, PAST[:0]])
def test_values_choose_branches_and_the_others_need_not_fit(use: bool, past: Array) -> None:
    inputs = {"x": X, "past": past, "use": np.array([use]), "rate": np.array(16000)}
    values = {"use": use, "rate": 16000}
    check(values if past.size else {**values, "past": past}, inputs)


def test_a_loop_whose_turns_are_a_value_is_written_out() -> None:
    model = onnx.parser.parse_model("""
        <ir_version: 8, opset_import: ["" : 17]>
        g (int64 turns, float[2] c) => (float[2] y, float[n, 2] all) {
            y, all = Loop (turns, "", c) <body = b (int64 i, bool go, float[2] a)
                => (bool on, float[2] twice, float[2] each) {
                twice = Add (a, a)
                on = Identity (go)
                each = Identity (twice)
            }>
        }
    """)
    c = np.array([1, 3], np.float32)
    mod, params = from_onnx(model, values={"turns": 5})
    results = qnn.build(mod, "host", params).run(c).values()
    for ours, theirs in zip(
        results, on_runtime(model, {"turns": np.array(5), "c": c}), strict=True
    ):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"used": 1}, "values: no input is named 'used'; there are 'x', 'past', 'use', 'rate'"),
        ({"use": "yes"}, "input 'use' is bool, got 'yes'"),
        ({"use": 2}, "input 'use' is bool, got 2"),
        ({"rate": 0.5}, "input 'rate' is int64, got 0.5"),
        ({"rate": [1, 2]}, r"input 'rate' has the shape \[\], got one of \[2\]"),
        ({"past": PAST[None]}, r"'past' has the shape \['\?', 8\], got one of \[1, 3, 8\]"),
    ],
)
def test_values_that_do_not_fit_are_refused(values: dict[str, Any], message: str) -> None:
    with pytest.raises(QnnError, match=message):
        from_onnx(decoder(), values=values)
