from typing import Any

from frontends.open_sizes import ANY, given_shapes
from tests.support.errors import failing


def test_sizes_are_numbers_names_or_bounds() -> None:
    given = given_shapes({"ids": ("batch", range(1, 513), 3)}, ["ids", "mask"])
    assert given.shapes == {"ids": ("batch", "ids_1", 3)}
    assert given.bounds_of("ids_1") == (1, 512)
    assert given.bounds_of("batch") == ANY


def test_names_of_sizes_take_bounds_or_a_number() -> None:
    shapes: Any = {"ids": ("batch", "length"), "length": range(1, 513), "batch": 4}
    given = given_shapes(shapes, ["ids"])
    assert given.shapes == {"ids": (4, "length")}
    assert given.bounds == {"length": (1, 512)}
    assert given.numbers == {"batch": 4}
    typed = given_shapes({"ids": ["length"], "length": (range(2, 9),)}, ["ids"])
    assert typed.bounds == {"length": (2, 8)}


def test_equal_names_are_one_variable() -> None:
    given = given_shapes({"x": ("batch", 3), "y": (2, "batch")}, ["x", "y"])
    variables: dict[str, Any] = {}
    batch, three = given.symbolic("x", variables)
    assert three == 3
    assert given.symbolic("y", variables)[1].same_as(batch)
    assert list(variables) == ["batch"]


def test_sums_follow_their_terms() -> None:
    shapes: Any = {"x": ("past", 3), "y": ("past+new", "new"), "new": 4, "past": range(9)}
    given = given_shapes(shapes, ["x", "y"], least=0)
    assert given.shapes == {"x": ("past", 3), "y": ("past + 4", 4)}
    assert given.bounds_of("past") == (0, 8)
    variables: dict[str, Any] = {}
    assert str(given.symbolic("y", variables)[0]) == "past + T.int64(4)"
    assert given_shapes({**shapes, "past": 0}, ["x", "y"], least=0).shapes["y"] == (4, 4)


test_what_is_no_size_is_one_error = failing(
    lambda shapes: given_shapes({"x": ("n", 3), **shapes}, ["x"]),
    ({"z": (1, 3)}, r"no input is named 'z'; there are 'x', 'n'"),
    ({"z": range(1, 4)}, r"no input is named 'z'"),
    ({"n": ("m",)}, r"the size 'n' is a number or a range, got \('m',\)"),
    ({"x": (0, 3)}, r"'x' needs sizes of 1 or more, got 0"),
    ({"x": ("a b", 3)}, r"a size of input 'x' is a number, a name or a range, got 'a b'"),
    ({"x": ("lambda", 3)}, r"a size of input 'x' is a number, a name or a range, got 'lambda'"),
    ({"x": (True, 3)}, r"a size of input 'x' is a number, a name or a range, got True"),
    ({"x": (1.5, 3)}, r"a size of input 'x' is a number, a name or a range, got 1.5"),
    ({"x": (range(4), 3)}, r"'x' needs a range of sizes of 1 or more, got range\(0, 4\)"),
    ({"n": range(1, 9, 2)}, r"'n' needs a range of sizes"),
    match="shape_dict: .*{}",
)
