"""A model as facts to print: the same for every framework."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Description:
    """A file's description of one input or output. Any part may be missing.

    Attributes:
        labels: the names of classes, in order.
        threshold: the least score that counts.
        mean: what is subtracted from a picture's values from 0 to 255: a number, or one for each
            channel.
        std: what the difference is divided by, likewise.
    """

    labels: tuple[str, ...] = ()
    threshold: float | None = None
    mean: tuple[float, ...] = ()
    std: tuple[float, ...] = ()


@dataclass(frozen=True)
class Descriptions:
    """A file's descriptions of its inputs and outputs.

    Attributes:
        inputs: by their places, where the file tells anything.
        outputs: likewise.
        notes: what of it could not be read, and why.
    """

    inputs: Mapping[int, Description] = field(default_factory=dict)
    outputs: Mapping[int, Description] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


INTEGER = "integer"
FLOAT = "float32"
FALLBACK = "float32 between dequantize and quantize"
UNSUPPORTED = "unsupported"


@dataclass(frozen=True)
class TensorNote:
    """A tensor that an operator takes or gives.

    Attributes:
        index: what identifies it in the model.
        name: in the file.
        shape: in the file.
        dtype: numpy's name for it.
        quantization: in words, empty if there is none.
        is_constant: whether the file holds its value.
        scales: the real value of one step: one number, or one for each place along ``axis``; none
            where it is not quantized so.
        zero_points: the integers that mean 0, as many.
        axis: that of the numbers; without meaning where there is one.
        limits: the lowest and the highest real value, for a tensor that is quantized by its range.
    """

    index: int
    name: str
    shape: tuple[int, ...]
    dtype: str
    quantization: str = ""
    is_constant: bool = False
    scales: tuple[float, ...] = ()
    zero_points: tuple[int, ...] = ()
    axis: int = 0
    limits: tuple[float, ...] = ()


@dataclass(frozen=True)
class OperatorInfo:
    """One operator of a model.

    Attributes:
        index: its place.
        code: as the framework calls it.
        name: of its first output.
        inputs: what it takes, in order.
        outputs: what it gives.
        options: its attributes.
        macs: products that it adds up.
        lowering: INTEGER, FLOAT, FALLBACK or UNSUPPORTED.
        reason: why it is unsupported; empty otherwise.
    """

    index: int
    code: str
    name: str
    inputs: tuple[TensorNote, ...]
    outputs: tuple[TensorNote, ...]
    options: Mapping[str, Any] = field(default_factory=dict)
    macs: int = 0
    lowering: str = INTEGER
    reason: str = ""


@dataclass(frozen=True)
class SignatureNote:
    """One of several models that a file holds.

    Attributes:
        name: of it.
        inputs: what it takes, as the signature calls them.
        outputs: what it gives, likewise.
    """

    name: str
    inputs: tuple[TensorNote, ...]
    outputs: tuple[TensorNote, ...]


@dataclass(frozen=True)
class Summary:
    """A model.

    Attributes:
        name: of the file.
        format: of the file.
        inputs: of the model.
        outputs: of the model.
        operators: in the order of execution.
        parameters: how many constants there are, in elements.
        parameter_bytes: what they take.
        signatures: of the file, if it has several.
    """

    name: str
    format: str
    inputs: tuple[TensorNote, ...]
    outputs: tuple[TensorNote, ...]
    operators: tuple[OperatorInfo, ...]
    parameters: int
    parameter_bytes: int
    signatures: tuple[SignatureNote, ...] = ()

    @property
    def macs(self) -> int:
        """Products that a run adds up."""
        return sum(operator.macs for operator in self.operators)

    def counts(self) -> list[tuple[str, str, int, int]]:
        """Count, for each kind of operator and lowering, operators and MACs; most first."""
        keys = [(operator.code, operator.lowering) for operator in self.operators]
        macs: Counter[tuple[str, str]] = Counter()
        for key, operator in zip(keys, self.operators, strict=True):
            macs[key] += operator.macs
        return [(*key, count, macs[key]) for key, count in Counter(keys).most_common()]

    @property
    def unsupported(self) -> tuple[OperatorInfo, ...]:
        """The operators that keep the model from being imported."""
        return tuple(op for op in self.operators if op.lowering == UNSUPPORTED)
