"""A TFLite model as a small typed graph: the reader makes it, the converters read it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np

from frontends.tflite.options.base import Options
from frontends.tflite.quantization import Blocks, Quantization
from qnn_ops.errors import QnnError

HANDLE = "resource"
"""The type of tensors that name a variable."""
COMPLEX = "complex64"
VARIANT = "variant"
"""The type of lists of tensors."""

DTYPES = ("float32", "int8", "uint8", "int16", "int32", "int64", "bool")
"""Types of tensors that an operator may write."""
INPUT_DTYPES = (*DTYPES, "float16")
"""Types of inputs and constants: a DEQUANTIZE reads float16."""


@dataclass(frozen=True, eq=False)
class Tensor:
    """One tensor of the graph.

    Attributes:
        index: its number in the subgraph; operators refer to it by this number.
        name: its name in the file; may be empty and need not be unique.
        shape: its dimensions; `()` is a scalar.
        dtype: its numpy name ("uint8", "int8", "int32", "float32", "bool", ...); types that numpy
            lacks have the schema's name in lower case ("string", ...). int4 and int2 are unpacked
            to int8.
        quantization: scales and zero points; None if the file states no scale, and for types that
            are not integers.
        data: a constant's values, a read-only view into the file of shape `shape` and type
            `dtype` (raw bytes, uint8 of rank 1, for types that numpy lacks); None for a tensor that
            is not constant.
        shape_signature: the shape with -1 for dimensions that the file leaves open; empty if the
            file states none, and `shape` is meant.
        is_variable: whether it keeps its value from one run to the next.
        packed: the type in the file, if it is int4 or int2; otherwise empty.
        blocks: the scales of weights that have one for each block of a row.
    """

    index: int
    name: str
    shape: tuple[int, ...]
    dtype: str
    quantization: Quantization | None = None
    data: np.ndarray | None = None
    shape_signature: tuple[int, ...] = ()
    is_variable: bool = False
    packed: str = ""
    blocks: Blocks | None = None

    @property
    def is_constant(self) -> bool:
        """Whether the file has its value; a tensor without elements has none."""
        return self.data is not None or (0 in self.shape and not self.is_variable)

    @property
    def array(self) -> np.ndarray:
        """A constant's values; a file may lack those of a tensor without elements."""
        return np.zeros(self.shape, self.dtype) if self.data is None else self.data

    @property
    def label(self) -> str:
        """The tensor's name in errors."""
        return f"tensor {self.index} {self.name!r}"


@dataclass(frozen=True)
class Operator:
    """One operator of the graph.

    Attributes:
        index: its number in the subgraph, which is its place in execution order.
        code: the schema's name ("CONV_2D"), "CUSTOM:<name>" for a custom operator, or
            "BUILTIN_<n>" for a number newer than the schema.
        version: the operator's version.
        inputs: tensor numbers; -1 stands for an optional input that is absent.
        outputs: tensor numbers.
        options: empty for an operator without options or with options that are not read.
        intermediates: numbers of tensors that only state the quantization of inner values.
    """

    index: int
    code: str
    version: int
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    options: Options = field(default_factory=Options, hash=False)
    intermediates: tuple[int, ...] = ()


@dataclass(frozen=True)
class Entry:
    """A signature: a file's name for one of its subgraphs.

    Attributes:
        key: its name.
        subgraph: the subgraph's number.
        inputs: names of inputs, and the numbers of their tensors there.
        outputs: names of outputs, and the numbers of their tensors there.
    """

    key: str
    subgraph: int
    inputs: tuple[tuple[str, int], ...]
    outputs: tuple[tuple[str, int], ...]


@dataclass(frozen=True, eq=False)
class Model:
    """A subgraph of a model, usually the main one.

    Attributes:
        tensors: every tensor, by number.
        operators: every operator, in execution order.
        inputs: numbers of the graph's input tensors.
        outputs: numbers of the graph's output tensors.
        description: free text in the file.
        subgraphs: every other subgraph of the file, the first of them is number 1; only for the
            main subgraph.
        entries: the file's signatures; only for the main subgraph.
        semantics: the program whose integers its operators give, of
            ``frontends.tflite.format.SEMANTICS``.
    """

    tensors: tuple[Tensor, ...]
    operators: tuple[Operator, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    description: str = ""
    subgraphs: tuple[Model, ...] = ()
    entries: tuple[Entry, ...] = ()
    semantics: str = "litert"

    @property
    def computed(self) -> tuple[int, ...]:
        """The tensors that operators compute, in their order, except complex ones and lists."""
        return tuple(
            index
            for operator in self.operators
            for index in operator.outputs
            if self.tensors[index].dtype not in (HANDLE, COMPLEX, VARIANT)
        )

    def with_constants(self, arrays: Mapping[int, np.ndarray]) -> Model:
        """Return the model with arrays as the values of tensors, by number."""
        tensors = list(self.tensors)
        for index, array in arrays.items():
            tensors[index] = replace(tensors[index], data=array, shape=array.shape)
        return replace(self, tensors=tuple(tensors))


Key: TypeAlias = "int | tuple[str, str]"
"""A variable tensor's number, or a variable's container and name."""


@dataclass(frozen=True, eq=False)
class State:
    """A tensor that a model keeps.

    Attributes:
        key: its identity.
        tensor: has its name, shape, dtype and quantization; for a variable, a tensor that holds it.
        initial: its value before the first run.
    """

    key: Key
    tensor: Tensor
    initial: np.ndarray


def handles_of(model: Model) -> dict[int, tuple[str, str]]:
    """Return the variables that tensors name, by the numbers of the tensors."""
    return {
        index: (operator.options.container, operator.options.shared_name)
        for operator in model.operators
        if operator.code == "VAR_HANDLE"
        for index in operator.outputs
    }


def variable_of(operator: Operator, handles: Mapping[int, tuple[str, str]]) -> tuple[str, str]:
    """Return the variable that an operator reads or assigns.

    Raises:
        QnnError: its first input names no variable.
    """
    if not operator.inputs or operator.inputs[0] not in handles:
        raise QnnError("its first input is no result of a VAR_HANDLE")
    return handles[operator.inputs[0]]
