"""TFLite models of several subgraphs, described by the names of their tensors."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from frontends.tflite.quantization import Quantization
from frontends.tflite.writer import ModelWriter
from tests.support.tflite import Operand, fixed

NUMBER, FLAG = ((), "int32"), ((), "bool")


@dataclass(frozen=True)
class Subgraph:
    """The tensors and operators of a subgraph. Names are words of one text, ``_`` for none.

    Attributes:
        tensors: what the tensors of some names are: shape, dtype and perhaps encoding; or a
            constant (``fixed`` of ``tests/support/tflite.py``).
        nodes: an operator, its operands and its results, and its options if it has some.
        takes: its inputs.
        gives: its outputs.
    """

    tensors: Mapping[str, Any]
    nodes: Sequence[tuple[Any, ...]]
    takes: str
    gives: str

    def write(self, writer: ModelWriter) -> tuple[list[int], list[int]]:
        """Add tensors and operators; return the indices of inputs and outputs."""
        places = {"_": -1}
        for names, kind in self.tensors.items():
            data = kind.array if isinstance(kind, Operand) else None
            shape, dtype, *encoding = kind.kind if isinstance(kind, Operand) else kind
            quantization = encoding[0] if encoding else None
            for name in names.split():
                places[name] = writer.tensor(name, shape, dtype, quantization, data)

        def indices(names: str) -> list[int]:
            return [places[name] for name in names.split()]

        for code, operands, results, *options in self.nodes:
            writer.operator(code, indices(operands), indices(results), **dict(*options))
        return indices(self.takes), indices(self.gives)

    def add_to(self, writer: ModelWriter) -> int:
        """Add the subgraph to a model, and return its number."""
        part = writer.subgraph()
        part.end(*self.write(part))
        return writer.subgraphs


def model_of(main: Subgraph, *others: Subgraph) -> bytes:
    """Return a model; the others have the numbers from 1 on."""
    writer = ModelWriter()
    ends = main.write(writer)
    for other in others:
        other.add_to(writer)
    return writer.finish(*ends)


def unary(code: str, *kind: Any) -> Subgraph:
    """Return an operator of one operand."""
    return Subgraph({"a b": kind}, [(code, "a", "b")], "a", "b")


def combining(code: str, dtype: str, encoding: Quantization | None = None) -> Subgraph:
    """Return an operator of two numbers, or the second number if there is no operator."""
    nodes = [(code, "a b", "c")] if code else []
    return Subgraph({"a b c": ((), dtype, encoding)}, nodes, "a b", "c" if code else "b")


def smaller(*kind: Any) -> Subgraph:
    """Return the condition of a loop of two counters and data: the first is below the second."""
    tensors = {"i n": NUMBER, "data": kind, "more": FLAG}
    return Subgraph(tensors, [("LESS", "i n", "more")], "i n data", "more")


def doubled(*kind: Any, step: int = 1) -> Subgraph:
    """Return the body of such a loop, which counts and doubles."""
    nodes = [("ADD", "i by", "following", {"version": 1}), ("ADD", "data data", "twice")]
    tensors = {"i n following": NUMBER, "data twice": kind, "by": fixed(step, "int32")}
    return Subgraph(tensors, nodes, "i n data", "following n twice")
