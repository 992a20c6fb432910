"""Small files that ask for much: they are refused before anything is computed."""

import resource
from string import ascii_letters
from typing import Any

import numpy as np
import pytest

from frontends.errors import UnsupportedOperatorError
from frontends.onnx import from_onnx
from tests.support.errors import fails
from tests.support.onnx_graphs import Net, Node, check_equal, onnx, pair, subgraph

MOST_MEGABYTES = 256
"""Of an import here; ``docs/reliability.md`` promises twice as much."""

DATA = {"x": np.linspace(-2, 2, 4, dtype=np.float32)[None]}
N = 500_000_000
QUANTIZED = pair("x s z", "d")
MAXIMUM: list[Node] = [("ReduceMax", "e", "m", {"keepdims": 0}), ("Add", "d m", "y")]
IMAGE: Node = ("Reshape", "d image", "r")
ONE, NO_MORE = np.array([1], np.float32), "all results of constants alone may have"
LETTERS = ascii_letters[:40].replace("z", "Z")
EQUATION = ",".join(f"z{letter}" for letter in LETTERS) + "->" + LETTERS
DOUBLED: list[Node] = [("Concat", f"k{i} k{i}", f"k{i + 1}", {"axis": 0}) for i in range(30)]


def proto(nodes: list[Node], sizes: Any = (1, 4), **constants: Any) -> Any:
    model = Net(nodes, DATA, {**constants, "s": np.float32(0.1), "z": np.uint8(128)}, ["y"]).model
    model.graph.input[0].CopyFrom(onnx.helper.make_tensor_value_info("x", 1, sizes))
    return model


def loop(turns: int) -> Any:
    body = subgraph(
        [("Add", "a a", "b"), ("Identity", "go", "on")],
        [("i", 7, []), ("go", 9, []), ("a", 1, [1, 4])],
        [("on", 9, []), ("b", 1, [1, 4])],
    )
    return proto([*QUANTIZED, ("Loop", "n _ d", "y", {"body": body})], n=np.int64(turns))


def largest(*nodes: Node, **constants: Any) -> Any:
    """Return a model that adds the largest element of a constant, e, to its data."""
    return proto([*QUANTIZED, *nodes, *MAXIMUM], **constants)


def ranged(count: int) -> Any:
    ends = {name: np.float32(each) for name, each in zip("abc", (0, count, 1), strict=True)}
    return largest(("Range", "a b c", "e"), **ends)


def resized(count: int) -> Any:
    nodes = [*QUANTIZED, IMAGE, ("Resize", "r _ n", "y", {"mode": "nearest"})]
    return proto(nodes, image=[1, 1, 2, 2], n=np.array([1, 1, 1, count], np.float32))


FLAGS = {"i": [0, 1], "n": np.int64(N), "v": np.array([0, 1], np.float32)}
CASES: dict[str, tuple[Any, str]] = {
    "expand": (
        largest(("Expand", "k n", "e"), k=ONE, n=[N]),
        f"Expand: it makes a constant of 2,000,000,000 bytes.*{NO_MORE}",
    ),
    "tile": (largest(("Tile", "k n", "e"), k=ONE, n=[N]), NO_MORE),
    "pad": (largest(("Pad", "k n", "e"), k=ONE, n=[0, N]), NO_MORE),
    "range": (ranged(N), NO_MORE),
    "long range": (ranged(60_000_000), "Range: an axis of 60,000,000 values"),
    "one hot": (largest(("OneHot", "i n v", "e"), **FLAGS), NO_MORE),
    "fill": (largest(("ConstantOfShape", "n", "e"), n=[N]), NO_MORE),
    "doubled": (largest(*DOUBLED, ("Identity", "k30", "e"), k0=ONE), NO_MORE),
    "resize": (resized(N), "Resize: it makes a tensor of 8,000,000,000 bytes|Resize: a tensor has"),
    "long resize": (resized(50_000_000), "Resize: an axis of 100,000,000 values"),
    "tile of data": (
        proto([*QUANTIZED, ("Tile", "d n", "y")], n=[100_000_000, 1]),
        "Tile: it makes a tensor of 1,600,000,000 bytes",
    ),
    "outer product": (
        proto([*QUANTIZED, ("Einsum", "d " * 40, "y", {"equation": EQUATION})]),
        "Einsum: a tensor has",
    ),
    "turns": (loop(1 << 62), "Loop: it has 4,611,686,018,427,387,904 iterations"),
}


@pytest.mark.parametrize("name", CASES)
def test_what_takes_gigabytes_is_refused_before_it_is_made(name: str) -> None:
    model, message = CASES[name]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    fails(message, from_onnx, model.SerializeToString(), error=UnsupportedOperatorError)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) >> 10
    assert grown < MOST_MEGABYTES


def test_an_input_of_too_many_elements_is_named() -> None:
    model = proto([*QUANTIZED, ("Relu", "d", "y")], [1 << 62])
    fails("input 'x': a tensor has 4,611,686,018,427,387,904 elements", from_onnx, model)


def test_a_range_of_real_numbers_is_added_up_as_there() -> None:
    """Also where nothing folds it: a result of the model is none of the shapes."""
    numbers = {"a": np.float32(0.3), "b": np.float32(7), "c": np.float32(0.1)}
    model = largest(("Range", "a b c", "e"), **numbers)
    model.graph.output.append(onnx.helper.make_empty_tensor_value_info("e"))
    check_equal(model, DATA)
