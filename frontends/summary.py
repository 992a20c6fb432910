"""A summary of a model, to print: the same for every framework."""

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
        mean: the number that is subtracted from a picture's values from 0 to 255, or one number for
            each channel.
        std: the divisor of the difference, or one divisor for each channel.
    """

    labels: tuple[str, ...] = ()
    threshold: float | None = None
    mean: tuple[float, ...] = ()
    std: tuple[float, ...] = ()


@dataclass(frozen=True)
class Descriptions:
    """A file's descriptions of its inputs and outputs.

    Attributes:
        inputs: the described inputs, by index.
        outputs: the described outputs, by index.
        notes: the parts that could not be read, with the reasons.
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
    """An operand or a result of an operator.

    Attributes:
        index: its index in the model.
        name: in the file.
        shape: in the file.
        dtype: numpy's name for it.
        quantization: in words, empty if there is none.
        is_constant: whether the file holds its value.
        scales: the real value of one step: one number, or one for each index along ``axis``; none
            if it has no scales.
        zero_points: the integers that mean 0, as many as scales.
        axis: the axis of the scales; without meaning if there is one scale.
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
        index: its position in the order of execution.
        code: its name in the framework.
        name: of its first output.
        inputs: its operands, in order.
        outputs: its results.
        options: its attributes.
        macs: the number of its products.
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
        name: its name.
        inputs: the names of its inputs in the signature.
        outputs: the names of its outputs in the signature.
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
        parameters: the number of constants, in elements.
        parameter_bytes: their size.
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
        """The number of products of a run."""
        return sum(operator.macs for operator in self.operators)

    def counts(self) -> list[tuple[str, str, int, int]]:
        """Count operators and MACs by kind of operator and lowering; the most frequent first."""
        keys = [(operator.code, operator.lowering) for operator in self.operators]
        macs: Counter[tuple[str, str]] = Counter()
        for key, operator in zip(keys, self.operators, strict=True):
            macs[key] += operator.macs
        return [(*key, count, macs[key]) for key, count in Counter(keys).most_common()]

    @property
    def unsupported(self) -> tuple[OperatorInfo, ...]:
        """The operators that keep the model from being imported."""
        return tuple(op for op in self.operators if op.lowering == UNSUPPORTED)
