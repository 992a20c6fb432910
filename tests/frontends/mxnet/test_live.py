"""Objects of a running MXNet: stand-ins everywhere, and its own where it is installed."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from frontends.mxnet import from_mxnet
from frontends.mxnet.graph import Graph
from frontends.mxnet.symbol import read_model, read_symbol
from tests.frontends.mxnet.files import array_list, dense, symbol_json
from tests.support.errors import fails

TEXT = symbol_json(
    [
        {"op": "null", "name": "data"},
        {"op": "null", "name": "w"},
        {"op": "broadcast_add", "name": "sum", "inputs": [[0, 0], [1, 0]]},
    ]
)
WEIGHT = np.array([[1, 2, 3]], np.float32)


class Symbol:
    """As `mx.sym.Symbol` is to its user."""

    def tojson(self) -> str:
        return TEXT


class Block:
    """As a Gluon `HybridBlock` is to its user, once it has run."""

    def export(self, path: str, epoch: int = 0) -> None:
        Path(f"{path}-symbol.json").write_text(TEXT)
        Path(f"{path}-{epoch:04}.params").write_bytes(array_list([dense(WEIGHT)], ["arg:w"]))


class FreshBlock:
    """One that has not run."""

    def export(self, path: str, epoch: int = 0) -> None:
        raise RuntimeError("Please first call block.hybridize() and then run forward")


def test_a_symbol() -> None:
    assert read_model(Symbol()) == (read_symbol(TEXT), {})


def test_a_graph_and_a_text() -> None:
    graph = read_symbol(TEXT)
    assert read_model(graph)[0] is graph
    assert read_model(TEXT)[0] == graph


def test_a_block_brings_its_parameters() -> None:
    graph, parameters = read_model(Block())
    assert graph == read_symbol(TEXT)
    assert list(parameters) == ["w"]
    np.testing.assert_array_equal(parameters["w"], WEIGHT)


def test_a_block_that_has_not_run() -> None:
    fails(r"FreshBlock cannot be exported: Please first call", read_model, FreshBlock())


@pytest.mark.parametrize("model", [3, None, object()])
def test_other_objects(model: Any) -> None:
    fails(r"symbol: got .*, needs a path, bytes or a text of JSON", read_model, model)


def test_given_parameters_take_the_place_of_the_blocks() -> None:
    for parameters, expected in ((None, WEIGHT), ({"w": 2 * WEIGHT}, 2 * WEIGHT)):
        _, params = from_mxnet(Block(), (1, 3), arg_params=parameters)
        (value,) = (value.numpy() for value in params.values())
        np.testing.assert_array_equal(value, expected)


def same_graph(graph: Graph, other: Graph) -> bool:
    """MXNet writes a symbol with the same nodes in the same order each time."""
    return (graph.nodes, graph.heads) == (other.nodes, other.heads)


def test_mxnets_own_objects(tmp_path: Path) -> None:
    mx = pytest.importorskip("mxnet", reason="MXNet is not installed: make mxnet")
    net = mx.gluon.nn.HybridSequential()
    net.add(mx.gluon.nn.Conv2D(4, 3), mx.gluon.nn.BatchNorm(), mx.gluon.nn.Dense(5))
    net.initialize()
    fails("HybridSequential cannot be exported", read_model, net)
    net.hybridize()
    net(mx.nd.ones((1, 2, 5, 5)))
    net.export(str(tmp_path / "net"))
    symbol, arguments, states = mx.model.load_checkpoint(str(tmp_path / "net"), 0)
    graph, parameters = read_model(net)
    assert same_graph(graph, read_model(symbol)[0])
    assert same_graph(graph, read_symbol(tmp_path / "net-symbol.json"))
    assert parameters.keys() == {*arguments, *states}
    for name, value in {**arguments, **states}.items():
        np.testing.assert_array_equal(parameters[name], value.asnumpy())
