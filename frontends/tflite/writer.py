"""Writes quantized TFLite models, for tests, benchmarks and demonstrations without TensorFlow."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import flatbuffers
import numpy as np
import numpy.typing as npt

from frontends.tflite.file_names import IDENTIFIER, METADATA
from frontends.tflite.model import Entry
from frontends.tflite.quantization import Blocks, Quantization
from frontends.tflite.schema import (
    DTYPES,
    ENUM_FIELDS,
    MEMBERS,
    OPERATORS,
    OPTIONS_BY_OPERATOR,
    pascal_case,
    vector_dtype,
)
from frontends.tflite.sparsity import BITS, Sparsity, pack
from frontends.tflite.writer_tables import (
    OperatorToWrite,
    TableToWrite,
    TensorToWrite,
    encode,
    entry_table,
    integers,
    operator_code_table,
    operator_table,
    tensor_table,
)
from qnn_ops.errors import QnnError

_SCHEMA_VERSION = 3
_CUSTOM = "CUSTOM:"

# The first version of an operator that takes int8 is 2, except for these.
_INT8_VERSIONS = {
    **dict.fromkeys(
        (
            *("ASSIGN_VARIABLE", "BITCAST", "BITWISE_XOR", "CAST", "CUMSUM", "DEPTH_TO_SPACE"),
            *("DILATE", "ELU", "EXPAND_DIMS", "HARD_SWISH", "HASHTABLE_LOOKUP", "IF"),
            *("LSH_PROJECTION", "MATRIX_DIAG", "MATRIX_SET_DIAG", "NEG", "PRELU", "QUANTIZE"),
            *("RANK", "REDUCE_WINDOW", "RELU_0_TO_1", "RELU_N1_TO_1", "RESHAPE", "RIGHT_SHIFT"),
            *("SCATTER_ND", "SHAPE", "SQUEEZE", "WHILE"),
            *("STABLEHLO_ADD", "STABLEHLO_AND", "STABLEHLO_CASE", "STABLEHLO_COMPOSITE"),
            *("STABLEHLO_GATHER", "STABLEHLO_MAXIMUM", "STABLEHLO_MINIMUM", "STABLEHLO_MULTIPLY"),
            *("STABLEHLO_PAD", "STABLEHLO_REDUCE_WINDOW", "STABLEHLO_SCATTER"),
            "STABLEHLO_SHIFT_LEFT",
        ),
        1,
    ),
    **dict.fromkeys(("CONV_2D", "DEPTHWISE_CONV_2D", "FLOOR_DIV"), 3),
    "FULLY_CONNECTED": 4,
}
# No runtime has the first version of these operators.
_FIRST_VERSIONS = {"BROADCAST_TO": 2}


class ModelWriter:
    """Builds the bytes of a .tflite file with one subgraph.

    Tensors and operators are added in the order in which the file lists them, operators
    in the order in which they run::

        writer = ModelWriter()
        x = writer.tensor("x", (1, 4), "int8", Quantization.per_tensor(0.1, 0))
        y = writer.tensor("y", (1, 4), "int8", Quantization.per_tensor(1 / 256, -128))
        writer.operator("SOFTMAX", [x], [y], beta=1.0)
        model = writer.finish([x], [y])

    Names, dtypes and tensor indices are checked. The writer does not check whether an operator
    accepts its tensors and their quantization: readers are tested on models where it does not.
    """

    def __init__(self) -> None:
        """Start an empty model."""
        self._tensors: list[TensorToWrite] = []
        self._operators: list[OperatorToWrite] = []
        self._codes: list[tuple[int, int, str]] = []
        self._buffers: list[bytes] = [b""]  # by convention buffer 0 is empty: "no data"
        self._ends: tuple[Sequence[int], Sequence[int]] = ((), ())
        self._subgraphs: list[ModelWriter] = []

    def tensor(
        self,
        name: str,
        shape: Sequence[int],
        dtype: str,
        quantization: Quantization | Blocks | None = None,
        data: npt.NDArray[Any] | None = None,
        sparsity: Sparsity | None = None,
        *,
        is_variable: bool = False,
    ) -> int:
        """Add a tensor.

        Args:
            name: the tensor's name.
            shape: the tensor's shape.
            dtype: the dtype's name, as numpy spells it: "uint8", "float32", ...
            quantization: the scales and zero points, or the position of scales by block; None for a
                real-valued tensor.
            data: the value of a constant, of that shape and dtype, int8 for int4 and int2; None for
                an activation.
            sparsity: the order of the values, if ``data`` has only some of them, in one row.
            is_variable: whether it keeps its value from one run to the next.

        Returns:
            The tensor's index.

        Raises:
            QnnError: if TFLite has no such dtype, or the data has another shape or dtype.
        """
        shape = tuple(int(extent) for extent in shape)
        if dtype not in DTYPES:
            raise QnnError(f"tensor {name!r}: TFLite has no dtype {dtype!r}")
        buffer = 0
        if data is not None:
            needed = "int8" if dtype in BITS else dtype
            if (data.shape != shape and sparsity is None) or data.dtype.name != needed:
                raise QnnError(
                    f"tensor {name!r}: data must be {needed} of shape {shape}, "
                    f"got {data.dtype} of shape {data.shape}"
                )
            buffer = len(self._buffers)
            stored = pack(data, dtype) if dtype in BITS else data
            stored = stored.astype(stored.dtype.newbyteorder("<"), copy=False)
            self._buffers.append(stored.tobytes())
        self._tensors.append(
            TensorToWrite(name, shape, dtype, quantization, buffer, sparsity, is_variable)
        )
        return len(self._tensors) - 1

    def operator(
        self,
        code: str,
        inputs: Sequence[int],
        outputs: Sequence[int],
        version: int | None = None,
        **options: Any,
    ) -> None:
        """Add an operator.

        Args:
            code: the operator's name in the TFLite schema, such as "CONV_2D", or "CUSTOM:" and the
                name of a custom operator. Its options are written as a flexbuffers map, or as a
                vector if ``values`` is the only one.
            inputs: tensor indices; -1 for an optional input that is absent.
            outputs: tensor indices.
            version: the operator's version; by default 1, or the first one that takes int8 if an
                input is int8.
            **options: ``intermediates``, the indices of tensors that only state the quantization of
                inner values, and the fields of the operator's options table in snake_case.
                Enumerations are given by name (`padding="SAME"`, `output_type="int32"`,
                `fused_activation_function="RELU6"`), vectors as sequences of integers. A field that
                is not given keeps the schema's default, which for strides is an unusable 0.

        Raises:
            QnnError: if there is no such operator, option, option value or tensor.
        """
        name = code.removeprefix(_CUSTOM) if code.startswith(_CUSTOM) else ""
        if not name and (code not in OPERATORS or code == "CUSTOM"):
            raise QnnError(f"TFLite has no builtin operator {code!r}")
        where = f"{code} (operator {len(self._operators)})"
        self._check_indices(where, inputs, lowest=-1)
        self._check_indices(where, outputs)
        intermediates = options.pop("intermediates", ())
        options_type = OPTIONS_BY_OPERATOR.get(code)
        checked = {
            field: value if name else _option_value(where, options_type, field, value)
            for field, value in options.items()
        }
        if version is None:
            takes_int8 = any(i >= 0 and self._tensors[i].dtype == "int8" for i in inputs)
            version = _INT8_VERSIONS.get(code, 2) if takes_int8 else _FIRST_VERSIONS.get(code, 1)
        key = (OPERATORS["CUSTOM" if name else code], version, name)
        if key not in self._codes:
            self._codes.append(key)
        self._operators.append(
            OperatorToWrite(
                self._codes.index(key),
                tuple(inputs),
                tuple(outputs),
                options_type,
                checked,
                tuple(intermediates),
            )
        )

    def subgraph(self) -> ModelWriter:
        """Add a subgraph, the first one number 1, and return its writer, to use until ``end``."""
        other = ModelWriter()
        other._codes, other._buffers = self._codes, self._buffers
        self._subgraphs.append(other)
        return other

    @property
    def subgraphs(self) -> int:
        """The number of added subgraphs, which is the number of the last one."""
        return len(self._subgraphs)

    def dtype(self, index: int) -> str:
        """Return the dtype of an added tensor; an empty text for -1."""
        return self._tensors[index].dtype if index >= 0 else ""

    def end(self, inputs: Sequence[int], outputs: Sequence[int]) -> None:
        """End a subgraph.

        Args:
            inputs: the indices of its inputs.
            outputs: the indices of its outputs.

        Raises:
            QnnError: if there is no such tensor.
        """
        self._check_indices("inputs", inputs)
        self._check_indices("outputs", outputs)
        self._ends = (inputs, outputs)

    def finish(
        self,
        inputs: Sequence[int],
        outputs: Sequence[int],
        description: str = "",
        metadata: bytes = b"",
        entries: Sequence[Entry] = (),
    ) -> bytes:
        """Encode the model.

        Args:
            inputs: the indices of the model's inputs.
            outputs: the indices of the model's outputs.
            description: free text that the file keeps.
            metadata: a flatbuffer of TFLite's metadata.
            entries: the file's signatures.

        Returns:
            The contents of a .tflite file.

        Raises:
            QnnError: if there is no such tensor.
        """
        self.end(inputs, outputs)
        graphs = [self, *self._subgraphs]
        # The builder is large enough from the start, because growing copies everything written.
        parts = sum(len(each._tensors) + len(each._operators) + 1 for each in graphs)
        size = sum(map(len, self._buffers)) + 1024 * parts
        builder = flatbuffers.Builder(size)
        data = [*self._buffers, metadata] if metadata else self._buffers
        about = TableToWrite("Metadata", Name=METADATA, Buffer=len(self._buffers))
        root = TableToWrite(
            "Model",
            Buffers=[TableToWrite("Buffer", Data=each or None) for each in data],
            Metadata=[about] if metadata else [],
            Subgraphs=[each._table() for each in graphs],
            OperatorCodes=[*map(operator_code_table, self._codes)],
            SignatureDefs=[*map(entry_table, entries)] or None,
            Version=_SCHEMA_VERSION,
            Description=description,
        )
        builder.Finish(encode(builder, root), file_identifier=IDENTIFIER)
        return bytes(builder.Output())

    def _table(self) -> TableToWrite:
        inputs, outputs = map(integers, self._ends)
        return TableToWrite(
            "SubGraph",
            Tensors=[*map(tensor_table, self._tensors)],
            Inputs=inputs,
            Outputs=outputs,
            Operators=[*map(operator_table, self._operators)],
            Name="main",
        )

    def _check_indices(self, where: str, indices: Sequence[int], lowest: int = 0) -> None:
        for index in indices:
            if not lowest <= index < len(self._tensors):
                raise QnnError(
                    f"{where}: no tensor {index}, there are {len(self._tensors)} tensors"
                )


def _snake_case(field: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", field).lower()


def _option_value(where: str, options_type: str | None, field: str, value: Any) -> Any:
    """Return the value as the schema stores it: a number, or an array for a vector."""
    if options_type is None:
        raise QnnError(f"{where} has no options, got {field!r}")
    if f"{options_type}Add{pascal_case(field)}" not in MEMBERS:
        prefix = f"{options_type}Add"
        known = [_snake_case(n[len(prefix) :]) for n in sorted(MEMBERS) if n.startswith(prefix)]
        raise QnnError(f"{where} has no option {field!r}; it has {', '.join(known) or 'none'}")
    if f"{options_type}Start{pascal_case(field)}Vector" in MEMBERS:
        return np.asarray(value, vector_dtype(options_type, field))
    if field not in ENUM_FIELDS:
        return value
    if value not in ENUM_FIELDS[field]:
        names = ", ".join(ENUM_FIELDS[field])
        raise QnnError(f"{where}: {field} must be one of {names}; got {value!r}")
    return ENUM_FIELDS[field][value]
