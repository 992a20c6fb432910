"""Reads the JSON of MXNet symbols into `frontends.mxnet.graph`, from before 1.0 to 2.0.

The format is that of nnvm's LoadJSON pass. Symbols of former versions are upgraded by the rules of
MXNet's own pass LoadLegacyJSON. A malformed file raises a `MXNetFormatError` that names the byte.
Converters can rely on these checks: every node reads only earlier nodes, so there are no cycles,
and every number is in range.

Objects of a running MXNet are read only through their methods: MXNet is never imported.
"""

import json
import os
import re
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from frontends.mxnet.errors import MXNetFormatError, format_error
from frontends.mxnet.graph import VARIABLE, Entry, Graph, Node
from frontends.mxnet.params import read_params
from qnn_ops.arrays import Array
from qnn_ops.errors import QnnError

JsonPath = tuple[str | int, ...]

# Real symbols nest 7 deep, and 4 more for each subgraph in a subgraph.
_MAX_DEPTH = 64
_MAX_DIGITS = 19  # of an int64
_TOKEN = re.compile(r'"|\\.|[\[{]|[\]}]', re.DOTALL)
_SPACE = re.compile(r"[ \t\n\r]*")


class _LongNumberError(ValueError):
    """A number has more digits than any valid one."""


def parse(source: str, text: str) -> Any:
    """Parse JSON.

    Args:
        source: the file's name in messages.
        text: the JSON.

    Raises:
        MXNetFormatError: it is not JSON, nests deeper than symbols do, or has numbers of more than
            19 digits.
    """
    _check_depth(source, text)
    try:
        return json.loads(text, parse_int=_integer, parse_constant=_constant)
    except json.JSONDecodeError as error:
        raise format_error(source, _byte(text, error.pos), f"is no JSON: {error.msg}") from None
    except _LongNumberError as error:
        number = str(error)
        raise format_error(
            source, _byte(text, text.find(number)), f"the number {number[:24]} makes no sense"
        ) from None


def locate(text: str, path: JsonPath) -> int:
    """Return the byte at which a path's value begins, or the innermost object that lacks it.

    Args:
        text: JSON that has been parsed.
        path: keys of objects and indices of elements, from the outermost value inwards.
    """
    position = _skip(text, 0)
    for key in path:
        inner = _child(text, position, key)
        if inner is None:
            break
        position = inner
    return _byte(text, position)


def _check_depth(source: str, text: str) -> None:
    # Python's parser recurses into each bracket.
    depth, quoted = 0, False
    for match in _TOKEN.finditer(text):
        token = match.group()
        if token == '"':
            quoted = not quoted
        elif not quoted and token in "[{":
            depth += 1
            if depth > _MAX_DEPTH:
                raise format_error(
                    source,
                    _byte(text, match.start()),
                    f"nests more than {_MAX_DEPTH} deep, which no symbol does",
                )
        elif not quoted and token in "]}":
            depth -= 1


def _integer(text: str) -> int:
    if len(text) > _MAX_DIGITS + 1:  # and a sign
        raise _LongNumberError(text)
    return int(text)


def _constant(text: str) -> None:
    raise _LongNumberError(text)  # NaN and Infinity are not JSON


def _child(text: str, position: int, key: str | int) -> int | None:
    """Find where the value of a key, or an element, of the container at a position begins."""
    opening = text[position]
    if opening != ("[" if isinstance(key, int) else "{"):
        return None
    decode = json.JSONDecoder(parse_int=str).raw_decode
    found = None
    index = 0
    position = _skip(text, position + 1)
    while text[position] not in "]}":
        name: str | int = index
        if opening == "{":
            name, position = decode(text, position)
            position = _skip(text, _skip(text, position) + 1)  # after the colon
        if name == key:
            found = position  # the last of several counts
        position = _skip(text, decode(text, position)[1])
        if text[position] == ",":
            position = _skip(text, position + 1)
        index += 1
    return found


def _skip(text: str, position: int) -> int:
    match = _SPACE.match(text, position)
    assert match is not None  # it matches nothing, too
    return match.end()


def _byte(text: str, position: int) -> int:
    return len(text[:position].encode("utf-8", "surrogatepass"))


_BEFORE_VERSIONS = 800  # files do not name their version before 0.9.0
_STORES_AUXILIARY = 900
_OPTIONAL_AXIS = 905

# Operators with states that files before 0.9.0 do not name: all inputs, in order.
_NORMALIZED = ("data", "gamma", "beta", "moving_mean", "moving_var")
_STATES = {"BatchNorm": _NORMALIZED, "CuDNNBatchNorm": _NORMALIZED}

# Attributes for trainers; they were among an operator's arguments before 0.9.
_HIDDEN = ("ctx_group", "lr_mult", "wd_mult", "force_mirroring", "mirror_stage")


def upgrade(graph: Graph) -> Graph:
    """Return the graph in the form of MXNet 1.0 and later.

    Args:
        graph: a symbol of any version.

    Returns:
        The graph with the states of its batch normalizations as variables, and without attributes
        that are not arguments.
    """
    version = graph.attrs.get("mxnet_version", _BEFORE_VERSIONS)
    assert isinstance(version, int)  # the reader has checked it
    if version < _STORES_AUXILIARY:
        graph = _with_states(graph)
    return replace(graph, nodes=tuple(_clean(node, version) for node in graph.nodes))


def _clean(node: Node, version: int) -> Node:
    attrs = {key: text for key, text in node.attrs.items() if not key.endswith(_HIDDEN)}
    # -1 meant all axes before the argument was optional.
    if node.op in ("argmax", "argmin") and version < _OPTIONAL_AXIS and attrs.get("axis") == "-1":
        del attrs["axis"]
    return node if len(attrs) == len(node.attrs) else replace(node, attrs=attrs)


def _with_states(graph: Graph) -> Graph:
    nodes: list[Node] = []
    moved: list[int] = []  # the new number of each old node
    for node in graph.nodes:
        inputs = [Entry(moved[entry.node], entry.output) for entry in node.inputs]
        for suffix in _STATES.get(node.op, ())[len(inputs) :]:
            inputs.append(Entry(len(nodes)))
            nodes.append(Node(f"{node.name}_{suffix}" if node.name else suffix, VARIABLE))
        moved.append(len(nodes))
        nodes.append(replace(node, inputs=tuple(inputs)))
    heads = tuple(Entry(moved[head.node], head.output) for head in graph.heads)
    return Graph(tuple(nodes), heads, graph.attrs)


_MAX_INDEX = 2**31 - 1

# The names that a node's attributes have had; if a file has several, the later one wins.
_ATTRIBUTE_FIELDS = ("param", "attr", "attrs")


def read_model(model: Any) -> tuple[Graph, dict[str, Array]]:
    """Read a symbol in any form, and the parameters that come with it.

    Args:
        model: the path, text or bytes of a symbol file, or a result of `read_symbol`; a symbol of
            MXNet, which has a method `tojson`; or a Gluon `HybridBlock`, which has a method
            `export` and contains its parameters.

    Returns:
        The graph, and the parameters and states by name, which only a block has.

    Raises:
        MXNetFormatError: a file is malformed.
        QnnError: the block cannot be exported; it says why.
        OSError: the path cannot be read.
    """
    if isinstance(model, Graph):
        return model, {}
    if callable(getattr(model, "tojson", None)):
        return read_symbol(model.tojson()), {}
    if callable(getattr(model, "export", None)):
        return _exported(model)
    return read_symbol(model), {}


def _exported(block: Any) -> tuple[Graph, dict[str, Array]]:
    with tempfile.TemporaryDirectory(prefix="tvm-qnn-") as folder:
        try:
            block.export(str(Path(folder) / "model"))
        except Exception as error:
            # A block has no graph before it has run once.
            raise QnnError(f"{type(block).__name__} cannot be exported: {error}") from error
        graph = read_symbol(Path(folder) / "model-symbol.json")
        parameters: dict[str, Array] = {}
        # MXNet may write no file for a block without parameters.
        for path in Path(folder).glob("model-*.params"):
            arguments, states = read_params(path)
            parameters |= {**arguments, **states}
        return graph, parameters


def read_symbol(symbol: str | os.PathLike[str] | bytes | bytearray | memoryview) -> Graph:
    """Read a symbol file.

    Args:
        symbol: the file's path; or its content, as bytes or as a text that begins with `{`.

    Returns:
        The graph, upgraded to the form of MXNet 1.0 and later: a file from before 0.9 does not name
        the running means and variances that its batch normalizations read.

    Raises:
        MXNetFormatError: the file is not a symbol, or is damaged; the message names the byte.
        OSError: the path cannot be read.
    """
    source, text = _text_of(symbol)
    content = parse(source, text)
    try:
        return upgrade(_graph(content, ()))
    except _MalformedError as error:
        offset = locate(text, error.path)
        raise format_error(source, offset, f"{_spelled(error.path)}: {error}") from None


class _MalformedError(Exception):
    """An error of the value at a path."""

    def __init__(self, path: JsonPath, problem: str) -> None:
        super().__init__(problem)
        self.path = path


def _text_of(symbol: Any) -> tuple[str, str]:
    """Return the file's name in messages, and its text."""
    if isinstance(symbol, str) and symbol.lstrip()[:1] == "{":
        return "symbol", symbol
    if isinstance(symbol, str | os.PathLike):
        source, data = os.fspath(symbol), Path(symbol).read_bytes()
    elif isinstance(symbol, bytes | bytearray | memoryview):
        source, data = "symbol", bytes(symbol)
    else:
        raise MXNetFormatError(
            f"symbol: got {type(symbol).__name__}, needs a path, bytes or a text of JSON"
        )
    try:
        return source, data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise format_error(source, error.start, "is not UTF-8 text, so no symbol") from None


def _graph(value: Any, path: JsonPath) -> Graph:
    fields = _object(value, path)
    nodes: list[Node] = []
    for index, item in enumerate(_array(fields, "nodes", path)):
        nodes.append(_node(item, (*path, "nodes", index), index))
    if not nodes:
        raise _MalformedError((*path, "nodes"), "is empty")
    for index, item in enumerate(_array(fields, "arg_nodes", path)):
        where = (*path, "arg_nodes", index)
        number = _index(item, where, len(nodes))
        if not nodes[number].is_variable:
            raise _MalformedError(where, f"names node {number}, which is no variable")
    heads = tuple(
        _entry(item, (*path, "heads", index), len(nodes))
        for index, item in enumerate(_array(fields, "heads", path))
    )
    if not heads:
        raise _MalformedError((*path, "heads"), "is empty")
    return Graph(tuple(nodes), heads, _graph_attrs(fields, path))


def _graph_attrs(fields: dict[str, Any], path: JsonPath) -> dict[str, object]:
    path = (*path, "attrs")
    attrs: dict[str, object] = {}
    for key, value in _object(fields.get("attrs", {}), path).items():
        # Each value follows the name of its type: ["int", 10901].
        if not (isinstance(value, list) and len(value) == 2 and isinstance(value[0], str)):
            raise _MalformedError((*path, key), "needs a type's name and a value")
        if key == "mxnet_version":
            _index(value[1], (*path, key, 1), _MAX_INDEX)
        attrs[key] = value[1]
    return attrs


def _node(value: Any, path: JsonPath, index: int) -> Node:
    fields = _object(value, path)
    op, name = (_string(fields.get(key), (*path, key)) for key in ("op", "name"))
    attrs: dict[str, str] = {}
    for field in _ATTRIBUTE_FIELDS:
        for key, text in _object(fields.get(field, {}), (*path, field)).items():
            attrs[_string(key, (*path, field))] = _string(text, (*path, field, key))
    inputs = tuple(
        _entry(item, (*path, "inputs", number), index)
        for number, item in enumerate(_array(fields, "inputs", path))
    )
    if op == VARIABLE and inputs:
        raise _MalformedError((*path, "inputs"), "a variable has none")
    subgraphs = tuple(
        _graph(item, (*path, "subgraphs", number))
        for number, item in enumerate(_array({"subgraphs": [], **fields}, "subgraphs", path))
    )
    return Node(name, op, attrs, inputs, subgraphs)


def _entry(value: Any, path: JsonPath, count: int) -> Entry:
    # The third number, the version, counts writes to a variable; it is not needed for reading.
    if not isinstance(value, list) or len(value) not in (2, 3):
        raise _MalformedError(path, "needs 2 or 3 numbers: node, output and version")
    return Entry(
        _index(value[0], (*path, 0), count),
        _index(value[1], (*path, 1), _MAX_INDEX),
    )


def _object(value: Any, path: JsonPath) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _MalformedError(path, f"is {_kind(value)}, needs an object")
    return value


def _array(fields: dict[str, Any], key: str, path: JsonPath) -> list[Any]:
    value = fields.get(key)
    if not isinstance(value, list):
        raise _MalformedError((*path, key), f"is {_kind(value)}, needs an array")
    return value


def _string(value: Any, path: JsonPath) -> str:
    if not isinstance(value, str):
        raise _MalformedError(path, f"is {_kind(value)}, needs a text")
    # JSON can spell half of a surrogate pair, which is not valid text.
    if not value.isascii() and re.search("[\ud800-\udfff]", value):
        raise _MalformedError(path, "is no Unicode text")
    return value


def _index(value: Any, path: JsonPath, count: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise _MalformedError(path, f"is {_kind(value)}, needs an integer")
    if not 0 <= value < count:
        needed = f"0 to {count - 1}" if count else "no node, as there is none before it"
        raise _MalformedError(path, f"is {value}, needs {needed}")
    return value


def _kind(value: Any) -> str:
    kinds = {dict: "an object", list: "an array", str: "a text", bool: "a boolean"}
    return kinds.get(type(value), "absent" if value is None else json.dumps(value))


def _spelled(path: JsonPath) -> str:
    """Return a path in Python's notation: `nodes[3].inputs[0]`."""
    parts = (f"[{key}]" if isinstance(key, int) else f".{key}" for key in path)
    return "".join(parts).lstrip(".") or "symbol"
