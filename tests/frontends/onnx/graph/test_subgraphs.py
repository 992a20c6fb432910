"""Convolutions and averages that read tensors of an outer graph, or constants that are inputs."""

import numpy as np
import pytest

from tests.support.onnx_graphs import Net, Node, onnx, subgraph

RNG = np.random.default_rng(3)
DATA = {"x": RNG.normal(1, 3, (2, 16, 7, 5)).astype(np.float32)}
WEIGHTS = {
    "w": RNG.normal(0, 0.02, (16, 16, 3, 3)).astype(np.float32),
    "b": RNG.normal(size=16).astype(np.float32),
}
NODES: list[Node] = [
    ("Conv", "x w b", "h", {"pads": [1, 1, 1, 1]}),
    ("GlobalAveragePool", "h", "g"),
]


@pytest.mark.parametrize("inner", ["", "w", "b", "w b"])
def test_branches(inner: str) -> None:
    own = {name: WEIGHTS[name] for name in inner.split()}
    outer = {name: WEIGHTS[name] for name in WEIGHTS if name not in own}
    branch = subgraph(NODES, [], [("h", 1, None), ("g", 1, None)], **own)
    choice: Node = ("If", "c", "y z", {"then_branch": branch, "else_branch": branch})
    Net([choice], {**DATA, "c": np.array(True)}, outer).check(in_float=True)


@pytest.mark.parametrize("cast", [[], [("Cast", "outer", "a", {"to": 1})]])
def test_averages_of_an_outer_tensor(cast: list[Node]) -> None:
    nodes = [*cast, ("GlobalAveragePool", "a" if cast else "outer", "g")]
    branch = subgraph(nodes, [], [("g", 1, None)])
    choice: Node = ("If", "c", "z", {"then_branch": branch, "else_branch": branch})
    data = {**DATA, "c": np.array(True)}
    Net([("Abs", "x", "outer"), choice], data).check(primitives=True, in_float=True)


@pytest.mark.parametrize("is_open", [False, True])
@pytest.mark.parametrize("is_inner", [False, True])
def test_bodies(is_open: bool, is_inner: bool) -> None:
    nodes = [*NODES, ("Add", "h g", "sum"), ("Identity", "c", "goes_on")]
    image = (2, 16, 7, 5)
    given = [("i", 7, ()), ("c", 9, ()), ("x", 1, image)]
    results = [("goes_on", 9, ()), ("sum", 1, image)]
    body = subgraph(nodes, given, results, **(WEIGHTS if is_inner else {}))
    count, begins = {"n": np.array(2)}, {"begins": np.array(True)}
    data = {"start": DATA["x"], **(count if is_open else {})}
    constants = {**begins, **({} if is_open else count), **({} if is_inner else WEIGHTS)}
    net = Net([("Loop", "n begins start", "y", {"body": body})], data, constants)
    net.check(in_float=True)


@pytest.mark.parametrize("version", [3, 8])
def test_constants_that_are_inputs(version: int) -> None:
    """Older files list all constants among their inputs."""
    net = Net(NODES, DATA, WEIGHTS, ["h", "g"])
    net.model.ir_version = version
    for name, array in WEIGHTS.items():
        info = onnx.helper.make_tensor_value_info(name, 1, array.shape)
        net.model.graph.input.append(info)
    net.check(in_float=True)
