"""Damaged and hostile symbols: one error that names the byte, in no time and little memory."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from frontends.mxnet.errors import MXNetFormatError
from frontends.mxnet.symbol import read_symbol
from tests.frontends.mxnet.damage import check_flipped, check_truncations, error_of
from tests.frontends.mxnet.files import symbol_json

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
