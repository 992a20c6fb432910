"""EMBEDDING_LOOKUP_SPARSE and LSH_PROJECTION: rows that are weighted and summed up."""

from typing import Any

import numpy as np
import pytest

from frontends.errors import ModelFormatError
from frontends.tflite.schema import ENUM_FIELDS
from qnn_ops.errors import QnnError
from tests.support.tflite import Operand, Sheet, fixed, given, one, refused, x

# If rows of one index are not consecutive, LiteRT divides more than once.
PLACES = [
    ([[0, 0], [0, 1], [2, 0], [2, 5], [3, 1]], [4, 2]),
    ([[1, 0], [1, 1], [0, 0], [1, 5], [1, 1]], [3, 9]),
    ([[0, 1, 0], [1, 0, 0], [1, 0, 3], [1, 2, 0], [0, 1, 1]], [2, 3, 1]),
    ([[4], [0], [2], [1], [7]], [1]),
]


@pytest.mark.parametrize("combiner", ENUM_FIELDS["combiner"])
def test_rows_equal_litert_s(combiner: str) -> None:
    sheet = Sheet(seed=1)
    table = fixed(sheet.rng.normal(0, 1, (6, 2, 4)), "float32")
    weights = given([0.3, -1.7, 0.6, 0, 2.1], "float32")
    for indices, sizes in PLACES:
        for make in (given, fixed):
            rows = make([3, 5, 0, 3, 1], "int32"), make(indices, "int32")
            kind = {"gives": "float32", "combiner": combiner}
            sheet.add("EMBEDDING_LOOKUP_SPARSE", *rows, sizes, weights, table, **kind)
    sheet.check()


def operands(**changed: Any) -> list[Operand]:
    """Return constants that fit, except for those that are given."""
    all_of = {
        "rows": fixed([1, 3], "int32"),
        "indices": fixed([[0, 0], [1, 0]], "int32"),
        "sizes": fixed([2, 1], "int32"),
        "weights": fixed([1, 1], "float32"),
        "table": fixed(np.ones((4, 5)), "float32"),
    }
    return list({**all_of, **changed}.values())


def _sparse(dtype: str = "int32", **changed: Any) -> Sheet:
    """Return a lookup; of the operands some are others."""
    others = {name: fixed(each, dtype) for name, each in changed.items()}
    return one("EMBEDDING_LOOKUP_SPARSE", *operands(**others), gives="float32", combiner="SUM")


def _hashed(functions: Any, items: Any, *weights: Operand, kind: str = "DENSE") -> Sheet:
    """Return the signs of sums of hashes."""
    given_items = given(items, "float32")
    rows = (fixed(functions, "float32"), given_items, *weights)
    return one("LSH_PROJECTION", *rows, gives="int32", type=kind, version=1)


TWO, FOUR = np.ones((2, 3)), np.ones(4)


test_what_is_refused = refused(
    (r"has indices outside of \(4,\)", _sparse(rows=[1, 4])),
    (r"has indices outside of \(4,\)", _sparse(rows=[1, -1])),
    ("rows", _sparse(rows=[1, 2, 3])),
    (r"has indices outside of \(2, 2147483647\)", _sparse(indices=[[0, 0], [2, 0]])),
    (r"at indices \(2,\)", _sparse(indices=[0, 1])),
    (r"in \(2,\)", _sparse(sizes=[2])),
    ("sizes must not be negative", _sparse(sizes=[-2, 1])),
    (r"with weights \(3,\)", _sparse("float32", weights=[1, 1, 1])),
    (r"of a table of shape \(4,\)", _sparse("float32", table=FOUR)),
    ("of int32, int32, int32, float32, int8", _sparse("int8", table=np.ones((4, 5)))),
    ("of int32, int32, int32", one("EMBEDDING_LOOKUP_SPARSE", *operands()[:3], gives="float32")),
    ("UNKNOWN, of float32, to int32", _hashed(TWO, FOUR, kind="UNKNOWN")),
    (r"has shape \(3,\), needs \[functions, bits\], of at most 32", _hashed(np.ones(3), FOUR)),
    (r"has shape \(2, 33\)", _hashed(np.ones((2, 33)), FOUR)),
    ("2 functions of 32 bits", _hashed(np.ones((2, 32)), FOUR, kind="SPARSE")),
    (r"has shape \(3,\), needs \(4,\)", _hashed(TWO, FOUR, fixed([1] * 3, "float32"))),
    (r"items of shape \(\)", _hashed(TWO, 1)),
    (r"items of shape \(0, 2\)", _hashed(TWO, np.ones((0, 2)))),
    (r"functions of \(2, 0\)", _hashed(np.ones((2, 0)), FOUR, kind="SPARSE")),
    ("at most 60 bytes, got 64", _hashed(TWO, np.ones((1, 16)))),
    ("DENSE, of float32, int32, to int32", _hashed(TWO, FOUR, fixed(FOUR, "int32"))),
)


def test_no_such_combiner() -> None:
    sheet = _sparse()
    sheet.writer._operators[0].options["combiner"] = 77
    sheet.check_refused("Combiner is 77, not one of SUM, MEAN, SQRTN", ModelFormatError)


@pytest.mark.parametrize("index", [99, -99])
def test_rows_of_a_run_stay_in_memory(index: int) -> None:
    wild = given([[2**31 - 1, 0], [-(2**31), 0]], "int32")
    rows = operands(rows=given([0, index], "int32"), indices=wild)
    result = ((2, 5), "float32", None)
    with pytest.raises(QnnError, match=f"EMBEDDING_LOOKUP_SPARSE: index {index} is"):
        one("EMBEDDING_LOOKUP_SPARSE", *rows, gives=result, combiner="MEAN").run()


DTYPES = ("int8", "uint8", "int16", "int32", "int64", "float32", "bool")


@pytest.mark.parametrize("dtype", DTYPES)
def test_items_of_any_type_equal_litert_s(dtype: str) -> None:
    sheet = Sheet(seed=1)
    functions = fixed(sheet.rng.normal(0, 1, (3, 7)), "float32")
    for shape in ((9,), (4, 3), (2, 3, 2)):
        items = x(*shape, dtype=dtype, encoding=None)
        for weights in ((), (x(shape[0], dtype="float32"),)):
            for kind in ("SPARSE", "DENSE"):
                sheet.add(
                    "LSH_PROJECTION",
                    functions,
                    items,
                    *weights,
                    gives="int32",
                    type=kind,
                    version=1,
                )
    sheet.check()


@pytest.mark.parametrize("size", [*range(1, 30, 4), 12, 28, 43, 60])
def test_items_of_any_size_equal_litert_s(size: int) -> None:
    items = x(3, size, dtype="uint8", encoding=None)
    one(
        "LSH_PROJECTION", x(2, 20, dtype="float32"), items, gives="int32", type="DENSE", version=1
    ).check()


@pytest.mark.parametrize(("count", "bits"), [(1, 32), (2, 31), (1, 1), (4, 30)])
def test_all_bits_of_a_number(count: int, bits: int) -> None:
    functions, items = x(count, bits, dtype="float32"), x(6, dtype="int32")
    one("LSH_PROJECTION", functions, items, gives="int32", type="SPARSE", version=1).check()
