"""A file's signatures: the names of its subgraphs. The importer reads the first subgraph."""

import struct
import warnings
from collections.abc import Sequence

import tflite

from frontends.errors import ModelFormatError
from frontends.tflite.flatbuffer import RUNTIME_ERRORS, Table
from frontends.tflite.model import Entry, Model
from qnn_ops.errors import QnnError

# Slots of the schema's Model table.
_SUBGRAPHS, _METADATA, _SIGNATURES = 2, 6, 7


class SignatureWarning(UserWarning):
    """A file has several signatures, and the caller chose none."""


def read_entries(root: Table) -> tuple[Entry, ...]:
    """Read the signatures of a file, in its order.

    Raises:
        ModelFormatError: the file is damaged.
    """
    return tuple(
        Entry(
            table.string("SignatureKey"),
            int(table.scalar("SubgraphIndex")),
            _names(table, "Inputs"),
            _names(table, "Outputs"),
        )
        for table in root.tables("SignatureDefs", "signature")
    )


def _names(table: Table, field: str) -> tuple[tuple[str, int], ...]:
    maps = table.tables(field, f"{table.where}: {field.lower()}")
    return tuple((each.string("Name"), int(each.scalar("TensorIndex"))) for each in maps)


def with_first(content: bytes, graph: Model, key: str) -> bytes:
    """Return a copy of a file with only the chosen signature, whose subgraph becomes the first.

    Args:
        content: of the file.
        graph: the model that was read from it.
        key: the signature's name.

    Raises:
        ModelFormatError: the file is damaged.
        QnnError: there is no such signature, or it has no subgraph.
    """
    entry = next((each for each in graph.entries if each.key == key), None)
    if entry is None:
        known = _listed(graph.entries) or "none"
        raise QnnError(f"the model has no signature {key!r}; it has {known}")
    if not 0 <= entry.subgraph <= len(graph.subgraphs):
        raise QnnError(
            f"signature {key!r} is of subgraph {entry.subgraph}, there are "
            f"{len(graph.subgraphs) + 1}"
        )
    try:
        return _patched(content, entry.subgraph)
    except RUNTIME_ERRORS as error:
        raise ModelFormatError(f"model: the file is truncated or damaged ({error})") from error


def _patched(content: bytes, subgraph: int) -> bytes:
    data = bytearray(content)
    table = tflite.Model.GetRootAs(data, 0)._tab

    def first_of(slot: int) -> int:
        offset = table.Offset(4 + 2 * slot)
        return int(table.Vector(offset)) if offset else 0

    def set_number(place: int, number: int) -> None:
        struct.pack_into("<I", data, place, number)

    # A vector of tables has its length first, then the distance of each table from its own entry.
    first = first_of(_SUBGRAPHS)
    there = first + 4 * subgraph
    set_number(first, there - first + struct.unpack_from("<I", data, there)[0])
    # Metadata describes the subgraph that was the first.
    for slot in (_SIGNATURES, _METADATA) if subgraph else (_SIGNATURES,):
        if start := first_of(slot):
            set_number(start - 4, 0)
    return bytes(data)


def warn_of_others(graph: Model) -> None:
    """Warn the caller of the importer once, if the signatures name several subgraphs."""
    if not any(each.subgraph for each in graph.entries):
        return
    taken = _listed([each for each in graph.entries if not each.subgraph]) or "that of none"
    warnings.warn(
        f"the model has the signatures {_listed(graph.entries)}; what is imported is its first "
        f"subgraph, {taken}: name one by signature, or --signature",
        SignatureWarning,
        stacklevel=5,
    )


def _listed(entries: Sequence[Entry]) -> str:
    return ", ".join(repr(each.key) for each in entries)
