"""Symbol files of every version, as graphs."""

from pathlib import Path
from typing import Any

import pytest

from frontends.mxnet.graph import Entry, Graph, Node
from frontends.mxnet.symbol import read_symbol
from tests.frontends.mxnet.files import symbol_json

DATA: dict[str, Any] = {"op": "null", "name": "data"}
WEIGHT: dict[str, Any] = {"op": "null", "name": "fc_weight"}


def dense_json(version: int | None = 10901, entry: tuple[int, ...] = (), **fields: Any) -> str:
    node = {"op": "FullyConnected", "name": "fc", "inputs": [[0, 0, *entry], [1, 0, *entry]]}
    attrs = None if version is None else {"mxnet_version": ["int", version]}
    return symbol_json([DATA, WEIGHT, {**node, **fields}], attrs=attrs)


EXPECTED = (
    Node("data", "null"),
    Node("fc_weight", "null"),
    Node("fc", "FullyConnected", {"num_hidden": "8"}, (Entry(0), Entry(1))),
)


def test_a_graph() -> None:
    graph = read_symbol(dense_json(entry=(0,), attrs={"num_hidden": "8"}))
    assert graph == Graph(EXPECTED, (Entry(2),), {"mxnet_version": 10901})
    assert [node.is_variable for node in graph.nodes] == [True, True, False]


@pytest.mark.parametrize("field", ["attrs", "attr", "param"])
def test_every_name_of_the_attributes(field: str) -> None:
    assert read_symbol(dense_json(**dict[str, Any]({field: {"num_hidden": "8"}}))).nodes == EXPECTED


def test_attributes_under_several_names() -> None:
    text = dense_json(param={"a": "1", "b": "1"}, attr={"b": "2", "c": "2"}, attrs={"c": "3"})
    assert read_symbol(text).nodes[2].attrs == {"a": "1", "b": "2", "c": "3"}


def test_before_0_9() -> None:
    text = dense_json(None, param={"num_hidden": "8"}, backward_source_id=-1)
    graph = read_symbol(text)
    assert graph.nodes == EXPECTED
    assert graph.attrs == {}


def test_paths_bytes_and_texts(tmp_path: Path) -> None:
    text = dense_json(attrs={"num_hidden": "8"})
    path = tmp_path / "net-symbol.json"
    path.write_text(text)
    for source in (path, str(path), text, "\n " + text, text.encode(), memoryview(text.encode())):
        assert read_symbol(source).nodes == EXPECTED


def test_subgraphs() -> None:
    inner = {
        "nodes": [{**DATA, "inputs": []}, {"op": "relu", "name": "r", "inputs": [[0, 0]]}],
        "arg_nodes": [0],
        "heads": [[1, 0]],
    }
    fused = read_symbol(dense_json(subgraphs=[inner])).nodes[2]
    relu = Node("r", "relu", {}, (Entry(0),))
    assert fused.subgraphs == (Graph((Node("data", "null"), relu), (Entry(1),)),)


def test_entries_name_outputs() -> None:
    text = symbol_json(
        [DATA, {"op": "split", "name": "s", "inputs": [[0, 0]]}], heads=[[1, 1, 0], [1, 0]]
    )
    assert read_symbol(text).heads == (Entry(1, 1), Entry(1, 0))


def norm_json(version: int | None) -> str:
    nodes: list[dict[str, Any]] = [
        DATA,
        {"op": "null", "name": "bn_gamma"},
        {"op": "null", "name": "bn_beta"},
        {"op": "BatchNorm", "name": "bn", "inputs": [[0, 0], [1, 0], [2, 0]]},
        {"op": "relu", "name": "relu", "inputs": [[3, 0]]},
    ]
    attrs = None if version is None else {"mxnet_version": ["int", version]}
    return symbol_json(nodes, attrs=attrs)


def test_states_are_added_before_0_9() -> None:
    graph = read_symbol(norm_json(None))
    assert [node.name for node in graph.nodes] == [
        *("data", "bn_gamma", "bn_beta", "bn_moving_mean", "bn_moving_var", "bn", "relu")
    ]
    assert graph.nodes[5].inputs == tuple(map(Entry, range(5)))
    assert graph.nodes[6].inputs == (Entry(5),)
    assert graph.heads == (Entry(6),)


def test_states_are_in_the_file_since_0_9() -> None:
    assert len(read_symbol(norm_json(900)).nodes) == 5


def test_what_only_training_needs_is_dropped() -> None:
    attrs = {"num_hidden": "8", "lr_mult": "0.1", "weight_wd_mult": "0", "ctx_group": "a"}
    assert read_symbol(dense_json(None, attr=attrs)).nodes == EXPECTED


@pytest.mark.parametrize(("version", "kept"), [(904, {}), (905, {"axis": "-1"})])
def test_no_axis_was_spelled_minus_one(version: int, kept: dict[str, str]) -> None:
    attrs = {"mxnet_version": ["int", version]}
    node = {"op": "argmax", "name": "a", "inputs": [[0, 0]], "attrs": {"axis": "-1"}}
    assert read_symbol(symbol_json([DATA, node], attrs=attrs)).nodes[1].attrs == kept


def test_the_fixtures_are_graphs() -> None:
    folder = Path(__file__).parents[2] / "fixtures" / "mxnet"
    for path in sorted(folder.glob("*-symbol.json")):
        graph = read_symbol(path)
        assert graph.nodes[0].name == "data"
        assert graph.attrs["mxnet_version"] == 10901
