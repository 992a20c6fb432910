"""Results whose length depends on the data, against ONNX Runtime: as many rows as the count."""

from typing import Any

import numpy as np
import pytest

import tvm_qnn as qnn
from frontends.errors import UnsupportedOperatorError
from frontends.onnx import from_onnx
from tests.support.onnx_graphs import Array, Net, Node, one, onnx, refused

RNG = np.random.default_rng(7)


def boxes_and_scores(count: int = 40) -> dict[str, Array]:
    """Return boxes that overlap, given by any two corners, and scores, many of them equal."""
    low, size = RNG.integers(0, 9, (2, count, 2)), RNG.integers(0, 7, (2, count, 2))
    boxes = np.concatenate([low, low + size], 2).astype(np.float32)
    boxes[:, ::3] = np.roll(boxes[:, ::3], 2, 2)
    return {"b": boxes, "s": (RNG.integers(0, 12, (2, 3, count)) / 8).astype(np.float32)}


BOXES = boxes_and_scores()
FLAGS = RNG.random((3, 5, 4)) < 0.4
REALS = {"x": np.where(FLAGS, np.float32(0), RNG.normal(0, 1, FLAGS.shape).astype(np.float32))}
NANS = np.array([np.nan, 0, 1], np.float32)
LIMITS: dict[str, Any] = {
    "k": np.array([12]),
    "t": np.array([0.4], np.float32),
    "p": np.array([0.3], np.float32),
}
SUPPRESS: Node = ("NonMaxSuppression", "b s k t p", "n")
THIRD = {"two": np.array(2), "zero": np.array([0]), "one": np.array([1]), "minus": np.array([-1])}

CASES: dict[str, tuple[list[Node], dict[str, Array], dict[str, Any]]] = {
    "NonMaxSuppression": ([SUPPRESS], BOXES, LIMITS),
    "of centers": (
        [("NonMaxSuppression", "b s k t", "n", {"center_point_box": 1})],
        {**BOXES, "b": abs(BOXES["b"])},
        LIMITS,
    ),
    "of limits that the run tells": (
        [SUPPRESS],
        {**BOXES, **{name: LIMITS[name] for name in "ktp"}},
        {},
    ),
    "of no limits": ([("NonMaxSuppression", "b s k", "n")], BOXES, {"k": np.array([99])}),
    "rows of boxes": (
        [
            SUPPRESS,
            ("Gather", "n two", "c", {"axis": 1}),
            ("Slice", "b zero one zero", "f"),
            ("Squeeze", "f zero", "g"),
            ("Gather", "g c", "d", {"axis": 0}),
            ("Mul", "d h", "y"),
        ],
        BOXES,
        {**LIMITS, **THIRD, "h": np.array([[1, 2, 3, 4]], np.float32)},
    ),
    "the first scores": (
        [
            SUPPRESS,
            ("GatherND", "s n", "d"),
            ("Unsqueeze", "d one", "e"),
            ("Slice", "e zero three zero", "f"),
            ("Concat", "f f", "g", {"axis": 1}),
            ("Reshape", "g flat", "y"),
        ],
        BOXES,
        {**LIMITS, **THIRD, "three": np.array([3]), "flat": np.array([1, -1, 2])},
    ),
    "NonZero": ([("NonZero", "x", "y")], REALS, {}),
    "NonZero of NaN": ([("NonZero", "x", "y")], {"x": NANS}, {}),
    "NonZero of truth values": ([("NonZero", "x", "y")], {"x": FLAGS[0]}, {}),
    "NonZero of zeros": ([("NonZero", "x", "y")], {"x": np.zeros(5, np.int64)}, {}),
    "elements by a mask": (
        [
            ("NonZero", "f", "n"),
            ("Transpose", "n", "t"),
            ("GatherND", "x t", "g"),
            ("Sigmoid", "g", "y"),
        ],
        {**REALS, "f": FLAGS},
        {},
    ),
    "Compress": ([("Compress", "x f", "y", {"axis": -2})], {**REALS, "f": FLAGS[0, :, 0]}, {}),
    "Compress of all": ([("Compress", "x f", "y")], {**REALS, "f": FLAGS.reshape(-1)[:50]}, {}),
}


@pytest.mark.parametrize("case", CASES)
def test_rows_that_count_are_onnx_runtimes(case: str) -> None:
    net = Net(*CASES[case])
    (theirs,) = net.theirs()
    ours, count = net.ours()
    assert (ours.dtype, count.dtype, count.shape) == (theirs.dtype, np.int64, (1,))
    (axis,) = [n for n in range(ours.ndim) if theirs.shape[n] == count.item()]
    # The C libraries' Sigmoid and ours have the same bits.
    np.testing.assert_array_equal(np.take(ours, np.arange(count.item()), axis), theirs)


OF_REALS = (
    *("Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Celu", "Cosh", "Elu", "IsInf", "Mish"),
    *("QuickGelu", "Selu", "Sinh", "Softplus", "Softsign", "Tan", "ThresholdedRelu"),
)
OF_BITS = ("BitwiseAnd", "BitwiseOr", "BitwiseXor")


def test_elementwise_operators_keep_rows_apart() -> None:
    """The rows that count are those of a model of as many rows."""
    gathered: list[Node] = [
        ("NonZero", "f", "n"),
        ("Transpose", "n", "t"),
        ("GatherND", "x t", "g"),
    ]
    nodes: list[Node] = [
        *((operator, "g", operator) for operator in OF_REALS),
        ("PRelu", "g slope", "PRelu"),
        ("Mean", "g slope g", "Mean"),
        ("BitCast", "g", "bits", {"to": onnx.TensorProto.UINT32}),
        *((operator, "bits three", operator) for operator in OF_BITS),
        ("BitwiseNot", "bits", "BitwiseNot"),
        ("BitShift", "bits three", "BitShift", {"direction": "RIGHT"}),
        ("QuantizeLinear", "g slope", "small", {"output_dtype": onnx.TensorProto.FLOAT8E4M3FN}),
        ("DequantizeLinear", "small slope", "DequantizeLinear"),
    ]
    numbers = RNG.permutation([*RNG.uniform(-3, 3, FLAGS.size - 2), np.inf, -np.inf])
    data = numbers.astype(np.float32).reshape(FLAGS.shape)
    constants = {"slope": np.array([0.3], np.float32), "three": np.array([3], np.uint32)}
    net = Net([*gathered, *nodes], {"x": data, "f": FLAGS}, constants, opset=26)
    known = Net(nodes, {"g": data[FLAGS]}, constants, opset=26).ours(in_float=True)
    found = net.ours(in_float=True)
    assert found[len(known) :] == [np.count_nonzero(FLAGS)] * len(known)
    for ours, fixed, theirs in zip(found, known, net.theirs(), strict=False):
        np.testing.assert_array_equal(ours[: len(fixed)], fixed)
        np.testing.assert_allclose(fixed, theirs, rtol=2.0**-20)


def test_the_count_is_an_output_behind_the_models_own() -> None:
    nodes, data, constants = CASES["NonMaxSuppression"]
    twice: list[Node] = [*nodes, ("Cast", "n", "n_count", {"to": 1})]
    mod, _ = from_onnx(Net(twice, data, constants, ["n", "n_count"]).model)
    fields = [field.shape.values for field in mod["main"].ret_ty.fields]
    assert [[int(size) for size in each] for each in fields] == [[72, 3], [72, 3], [1], [1]]
    assert '"n_count_"' in str(mod["main"].attrs["qnn_signature"])


@pytest.mark.parametrize(
    ("operator", "operands", "attributes", "reason"),
    [
        ("ReduceSum", "n zero", {}, "ReduceSum: the data decide how long axis 0 of 'n' is"),
        ("Shape", "n", {}, "Shape: the data decide"),
        ("TopK", "n one", {"axis": 0}, "end the model before it"),
        ("Slice", "n one two zero", {}, "Slice: .* other rows than the first ones"),
        ("Gather", "n zero", {"axis": 0}, "Gather: .*: rows by their numbers"),
        ("Add", "n row", {}, "Add: .*: 'row' has a row for each"),
    ],
)
def test_what_mixes_rows_is_refused(
    operator: str, operands: str, attributes: dict[str, Any], reason: str
) -> None:
    results = "y z" if operator == "TopK" else "y"
    (n,) = Net([SUPPRESS], BOXES, LIMITS).theirs()
    constants = {**LIMITS, **THIRD, "two": np.array([2]), "row": n}
    nodes: list[Node] = [SUPPRESS, (operator, operands, results, attributes)]
    Net(nodes, BOXES, constants, ["y"]).check_refused(reason, UnsupportedOperatorError)


def test_what_follows_from_constants_has_a_length() -> None:
    values = np.array([3, 0, 0, 1, 3])
    nodes: list[Node] = [
        ("NonZero", "c", "m"),
        ("Reshape", "m minus", "n"),
        ("Compress", "c f", "p"),
        ("Unique", "c", "u _ i k", {"sorted": 0}),
        ("Concat", "n p u i k", "a", {"axis": -1}),
        ("Add", "a x", "y"),
    ]
    data = {"x": np.array(1)}
    constants = {"c": values, "f": values > 0, "minus": np.array([-1])}
    Net(nodes, data, constants).check()


test_what_is_refused = refused(
    ("Unique: its values must follow from", one("Unique", np.arange(4))),
    (
        "iou_threshold must be from 0 to 1",
        one("NonMaxSuppression", *BOXES.values(), [12], [1.5], [0.3]),
    ),
    error=UnsupportedOperatorError,
)


def test_a_condition_that_is_known_leaves_a_known_length() -> None:
    constants = {"f": np.array([True, False, True])}
    Net([("Compress", "x f", "y", {"axis": 1})], REALS, constants).check()


def test_a_comparison_is_of_the_rows_that_count() -> None:
    net = Net([("NonZero", "x", "y")], REALS)
    (found,) = qnn.compare(onnx.shape_inference.infer_shapes(net.model), [*REALS.values()]).outputs
    assert (found.name, found.elements, found.differing) == ("y", 3 * int((~FLAGS).sum()), 0)
