"""Equations of Einsum, checked before the package onnx reads them: of some it reads forever."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from frontends.errors import ModelFormatError, UnsupportedError
from frontends.onnx.constants import inner_graphs

_TERM = re.compile(r"([A-Za-z]*)(\.\.\.)?([A-Za-z]*)")
_STANDARD = ("", "ai.onnx")
_ARROW, _REST = "->", "..."


def check_equations(proto: Any) -> None:
    """Check the text of every equation.

    Raises:
        ModelFormatError: it names an operator and what is wrong with its equation.
    """
    graphs = (proto.graph, *inner_graphs(proto.graph), *proto.functions)
    for node in (node for graph in graphs for node in graph.node):
        if node.op_type != "Einsum" or node.domain not in _STANDARD:
            continue
        text = next((each.s for each in node.attribute if each.name == "equation"), b"")
        try:
            terms = _terms(text)
            if len(terms) != len(node.input):
                raise UnsupportedError(f"{len(terms)} terms for {len(node.input)} operands")
        except UnsupportedError as error:
            name, equation = [*node.output, ""][0], text.decode(errors="replace")
            raise ModelFormatError(f"Einsum {name!r}: equation {equation!r}: {error}") from None


def check_sizes(equation: bytes, shapes: Sequence[tuple[int, ...] | None]) -> None:
    """Check the sizes that letters have, of which those of 1 are repeated.

    Args:
        equation: of ``check_equations``.
        shapes: of the operands, where they are known.

    Raises:
        UnsupportedError: an operand has another number of axes, or a letter two sizes.
    """
    text, sizes = equation.decode(), dict[str, int]()
    for term, shape in zip(_terms(equation), shapes, strict=True):
        if shape is None:
            continue
        before, rest, after = term.partition(_REST)
        if len(before + after) > len(shape) or (not rest and len(before + after) < len(shape)):
            raise UnsupportedError(f"equation {text!r}: {term!r} for data of shape {list(shape)}")
        ends = [*zip(before, shape, strict=False)]
        ends += zip(after, shape[len(shape) - len(after) :], strict=True)
        own: dict[str, int] = {}
        for letter, size in ends:
            if own.setdefault(letter, size) != size:
                raise UnsupportedError(f"equation {text!r}: {letter} is {own[letter]} and {size}")
            if size != 1 and sizes.setdefault(letter, size) != size:
                raise UnsupportedError(f"equation {text!r}: {letter} is {sizes[letter]} and {size}")


def _terms(equation: bytes) -> list[str]:
    """Return the terms of operands."""
    text = equation.decode(errors="replace").replace(" ", "")
    left, arrow, result = text.partition(_ARROW)
    terms = left.split(",")
    for term in (*terms, result):
        if _TERM.fullmatch(term) is None:
            raise UnsupportedError(f"{term!r} is no row of letters, in which '...' may stand once")
    letters = left.replace(_REST, "")
    own = result.replace(_REST, "")
    if arrow and (len({*own}) != len(own) or not {*own} <= {*letters}):
        raise UnsupportedError("each letter of the result must stand there once, and on the left")
    return terms
