"""Symbols: what they mean, and one error, in no time, for those that are damaged."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from frontends.mxnet.errors import MXNetFormatError
from frontends.mxnet.graph import Entry, Graph, Node
from frontends.mxnet.symbol import read_symbol
from tests.frontends.mxnet.damage import check_flipped, check_truncations, error_of
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


NODES: list[dict[str, Any]] = [
    {"op": "null", "name": "data", "attrs": {"__shape__": "(1, 3)"}},
    {"op": "null", "name": "w"},
    {"op": "FullyConnected", "name": "fc", "attr": {"num_hidden": "8"}, "inputs": [[0, 0], [1, 0]]},
]
SYMBOL = symbol_json([*NODES, {"op": "x", "name": "é", "inputs": [[2, 0, 0]]}]).encode()


def symbol_error(text: str | bytes) -> str:
    return error_of(read_symbol, text.encode() if isinstance(text, str) else text)


def test_every_truncation_is_an_error() -> None:
    check_truncations(read_symbol, SYMBOL)


@settings(max_examples=100)
@given(numbers=st.data())
def test_flipped_bytes_parse_or_are_an_error(numbers: st.DataObject) -> None:
    check_flipped(read_symbol, SYMBOL, numbers)


@pytest.mark.parametrize("source", [None, 3, ["a"], object()])
def test_not_a_source(source: Any) -> None:
    with pytest.raises(MXNetFormatError, match=r"symbol: got .*, needs a path, bytes or a text"):
        read_symbol(source)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "byte 0: is no JSON: Expecting value"),
        (b"\xff{", "byte 0: is not UTF-8 text, so no symbol"),
        ("[]", "byte 0: symbol: is an array, needs an object"),
        ("{}", "byte 0: nodes: is absent, needs an array"),
        ('{"nodes": [],\n"arg_nodes": [], "heads": []}', "byte 10: nodes: is empty"),
        ('{"nodes": [] "heads"}', "byte 13: is no JSON: Expecting ',' delimiter"),
        ('{"nodes": NaN}', "byte 10: the number NaN makes no sense"),
        ('{"é": ' + "7" * 5000 + "}", "byte 7: the number 777777777777777777777777 makes no"),
        ('{"nodes": 1e999}', "byte 10: nodes: is Infinity, needs an array"),
    ],
)
def test_what_is_no_symbol(text: str | bytes, message: str) -> None:
    assert message in symbol_error(text)


@pytest.mark.parametrize("bomb", ["[" * 10**6, '{"nodes":' * 10**6, '[{"\\\\":' * 40, "[" * 65])
def test_deep_nesting(bomb: str) -> None:
    assert "nests more than 64 deep" in symbol_error(bomb)


def test_brackets_in_texts_do_not_nest() -> None:
    text = symbol_json([{"op": "null", "name": '[{"\\' * 100}])
    assert read_symbol(text).nodes[0].name == '[{"\\' * 100


def test_unending_texts_take_linear_time() -> None:
    assert "is no JSON" in symbol_error('{"' + '\\"' * 10**5)


@pytest.mark.parametrize(
    ("index", "changes", "message"),
    [
        (2, {"inputs": [[0, 0], [2, 0]]}, "nodes[2].inputs[1][0]: is 2, needs 0 to 1"),
        (2, {"inputs": [[3, 0]]}, "nodes[2].inputs[0][0]: is 3, needs 0 to 1"),
        (2, {"inputs": [[-1, 0]]}, "nodes[2].inputs[0][0]: is -1, needs 0 to 1"),
        (2, {"inputs": [[0, -1]]}, "nodes[2].inputs[0][1]: is -1, needs 0 to"),
        (2, {"inputs": [[0]]}, "nodes[2].inputs[0]: needs 2 or 3 numbers"),
        (2, {"inputs": [[0, 0, 0, 0]]}, "nodes[2].inputs[0]: needs 2 or 3 numbers"),
        (2, {"inputs": [[True, 0]]}, "nodes[2].inputs[0][0]: is a boolean, needs an integer"),
        (2, {"inputs": [[0.5, 0]]}, "nodes[2].inputs[0][0]: is 0.5, needs an integer"),
        (2, {"inputs": "abc"}, "nodes[2].inputs: is a text, needs an array"),
        (2, {"op": None}, "nodes[2].op: is absent, needs a text"),
        (2, {"name": 7}, "nodes[2].name: is 7, needs a text"),
        (2, {"name": "\ud800"}, "nodes[2].name: is no Unicode text"),
        (2, {"attrs": {"k": 1}}, "nodes[2].attrs.k: is 1, needs a text"),
        (2, {"attrs": []}, "nodes[2].attrs: is an array, needs an object"),
        (2, {"subgraphs": [{}]}, "nodes[2].subgraphs[0].nodes: is absent, needs an array"),
        (0, {"inputs": [[0, 0]]}, "nodes[0].inputs[0][0]: is 0, needs no node, as there is none"),
        (1, {"inputs": [[0, 0]]}, "nodes[1].inputs: a variable has none"),
    ],
)
def test_nodes_that_make_no_sense(index: int, changes: dict[str, Any], message: str) -> None:
    nodes = [{**node, **(changes if number == index else {})} for number, node in enumerate(NODES)]
    assert message in symbol_error(symbol_json(nodes))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"arg_nodes": [0, 2]}, "arg_nodes[1]: names node 2, which is no variable"),
        ({"arg_nodes": [9]}, "arg_nodes[0]: is 9, needs 0 to 2"),
        ({"heads": [[3, 0, 0]]}, "heads[0][0]: is 3, needs 0 to 2"),
        ({"heads": []}, "heads: is empty"),
        ({"attrs": {"mxnet_version": "1.9"}}, "attrs.mxnet_version: needs a type's name and"),
        ({"attrs": {"mxnet_version": ["int", "x"]}}, "attrs.mxnet_version[1]: is a text, needs"),
    ],
)
def test_graphs_that_make_no_sense(fields: dict[str, Any], message: str) -> None:
    assert message in symbol_error(symbol_json(NODES, **fields))


def test_the_byte_is_that_of_the_value() -> None:
    text = symbol_json(
        [NODES[0], {**NODES[1], "name": "é"}, {**NODES[2], "inputs": [[0, 0], [77, 0]]}]
    )
    text = text.replace("\\u00e9", "é")
    offset = text.encode().index(b"77")
    assert symbol_error(text).startswith(f"byte {offset}: nodes[2].inputs[1][0]: is 77")
