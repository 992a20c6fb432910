"""Writes the program beside an exported model that checks its outputs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tvm_qnn.io.templates import filled
from tvm_qnn.standalone.c99.source import c_array


@dataclass(frozen=True)
class Vector:
    """One run of a model.

    Attributes:
        inputs: in order.
        outputs: in order.
    """

    inputs: tuple[np.ndarray, ...]
    outputs: tuple[np.ndarray, ...]


def vectors_program(facts: Mapping[str, Any], vectors: Sequence[Vector]) -> str:
    """Return the program that runs a model on one test vector after another.

    Args:
        facts: the model's facts, from ``facts_of``.
        vectors: the inputs and outputs of each run.
    """
    columns = {
        "given": [*zip(*(vector.inputs for vector in vectors), strict=True)],
        "wanted": [*zip(*(vector.outputs for vector in vectors), strict=True)],
    }
    arrays = {
        kind: [_array(f"{kind}{number}", each) for number, each in enumerate(tensors)]
        for kind, tensors in columns.items()
    }
    own = {kind: ", ".join(f"{kind}{i}" for i in range(len(each))) for kind, each in arrays.items()}
    texts = "".join(text for each in arrays.values() for text in each)
    return filled(
        "tvm_qnn.standalone", "test.c", {**facts, **own, "vectors": len(vectors), "arrays": texts}
    )


def _array(name: str, tensors: Sequence[np.ndarray]) -> str:
    contents = b"".join(np.asarray(tensor, order="C").tobytes() for tensor in tensors)
    return c_array("static const unsigned char", name, [*map(str, contents)])
