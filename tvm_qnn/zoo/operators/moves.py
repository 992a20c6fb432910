"""Operators that move elements or choose among them, and keep their scale."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from tvm_qnn.zoo.file import QUANTIZED, Array, File, Shape, Tensor, TensorType
from tvm_qnn.zoo.float_run import FloatRun, Weights
from tvm_qnn.zoo.graph import Operator


@dataclass(frozen=True)
class Concat(Operator):
    """Values side by side along an axis other than the first; for pictures, the channels."""

    axis: int = 3

    code = "CONCATENATION"
    joins = True

    def shapes(self, *shapes: Shape) -> list[Shape]:
        """Return that of the output."""
        joined = sum(shape[self.axis] for shape in shapes)
        return [(*shapes[0][: self.axis], joined, *shapes[0][self.axis + 1 :])]

    def compute(self, run: FloatRun, *arrays: Array) -> list[Array]:
        """Join."""
        return [np.concatenate(arrays, axis=self.axis)]

    def options(self) -> dict[str, Any]:
        """Return the axis."""
        return {"axis": self.axis}

    def write(
        self, file: File, inputs: Sequence[Tensor], outputs: Sequence[TensorType]
    ) -> list[Tensor]:
        """Write it, and QUANTIZE before it where the scale of a signed input is fixed."""
        if file.style.dtype != "uint8":
            inputs = [file.requantized(x, outputs[0].quantization) for x in inputs]
        return super().write(file, inputs, outputs)


@dataclass(frozen=True)
class Embed(Operator):
    """Rows of a table, by their numbers.

    Attributes:
        words: rows of the table.
        depth: values of a row.
    """

    words: int
    depth: int

    code = "GATHER"

    def shapes(self, *shapes: Shape) -> list[Shape]:
        """Return that of the output."""
        return [(*shapes[0], self.depth)]

    def compute(self, run: FloatRun, *arrays: Array) -> list[Array]:
        """Draw the table, and take rows."""
        table = run.drawn((self.words, self.depth))
        run.weights = Weights(table, np.zeros(0, np.float32))
        return [table[arrays[0]]]

    def dtype(self, *dtypes: str) -> str:
        """Return that of activations."""
        return QUANTIZED

    def write(
        self, file: File, inputs: Sequence[Tensor], outputs: Sequence[TensorType]
    ) -> list[Tensor]:
        """Write it; the table, which comes before the numbers, has the output's scale."""
        assert file.weights is not None
        table = file.quantized_constant("table", file.weights.kernel, outputs[0].quantization)
        return file.layer(self.code, [table, inputs[0].index], outputs, axis=0)


@dataclass(frozen=True)
class Reshape(Operator):
    """The same elements in another shape; -1 stands for what is left.

    Attributes:
        shape: the new one, without the batch's extent in front.
    """

    shape: tuple[int, ...]

    code = "RESHAPE"
    same_scale = True

    def shapes(self, *shapes: Shape) -> list[Shape]:
        """Return that of the output."""
        left = prod(shapes[0][1:]) // abs(prod(self.shape))
        return [(1, *(left if extent < 0 else extent for extent in self.shape))]

    def compute(self, run: FloatRun, *arrays: Array) -> list[Array]:
        """Reshape each sample."""
        return [arrays[0].reshape(len(arrays[0]), *self.shape)]

    def write(
        self, file: File, inputs: Sequence[Tensor], outputs: Sequence[TensorType]
    ) -> list[Tensor]:
        """Write it, with its shape as a constant."""
        shape = np.array(outputs[0].shape, np.int32)
        tensors = [inputs[0].index, file.constant("shape", shape)]
        return file.layer(self.code, tensors, outputs, new_shape=shape)


@dataclass(frozen=True)
class Transpose(Operator):
    """The axes in another order, of which the first stays.

    Attributes:
        order: the place of each axis before.
    """

    order: tuple[int, ...]

    code = "TRANSPOSE"
    same_scale = True

    def shapes(self, *shapes: Shape) -> list[Shape]:
        """Return that of the output."""
        return [tuple(shapes[0][axis] for axis in self.order)]

    def compute(self, run: FloatRun, *arrays: Array) -> list[Array]:
        """Transpose."""
        return [arrays[0].transpose(self.order)]

    def constants(self, file: File, inputs: Sequence[Tensor]) -> list[int]:
        """Write the order."""
        return [file.constant("order", np.array(self.order, np.int32))]


@dataclass(frozen=True)
class Split(Operator):
    """Equal parts along an axis other than the first; `outputs` adds all.

    Attributes:
        parts: how many.
        axis: the axis.
    """

    parts: int
    axis: int = 3

    code = "SPLIT"
    same_scale = True

    def shapes(self, *shapes: Shape) -> list[Shape]:
        """Return those of the parts."""
        extent = shapes[0][self.axis] // self.parts
        return [(*shapes[0][: self.axis], extent, *shapes[0][self.axis + 1 :])] * self.parts

    def compute(self, run: FloatRun, *arrays: Array) -> list[Array]:
        """Split."""
        return np.split(arrays[0], self.parts, self.axis)

    def write(
        self, file: File, inputs: Sequence[Tensor], outputs: Sequence[TensorType]
    ) -> list[Tensor]:
        """Write it; the axis comes before the data."""
        tensors = [file.constant("axis", np.array(self.axis, np.int32)), inputs[0].index]
        return file.layer(self.code, tensors, outputs, num_splits=self.parts)


@dataclass(frozen=True)
class Slice(Operator):
    """A part of each axis but the first.

    Attributes:
        begin: the first place on each of them.
        size: the extents of the part.
    """

    begin: tuple[int, ...]
    size: tuple[int, ...]

    code = "SLICE"
    same_scale = True

    def shapes(self, *shapes: Shape) -> list[Shape]:
        """Return that of the output."""
        return [(shapes[0][0], *self.size)]

    def compute(self, run: FloatRun, *arrays: Array) -> list[Array]:
        """Slice."""
        parts = (slice(b, b + n) for b, n in zip(self.begin, self.size, strict=True))
        return [arrays[0][(slice(None), *parts)]]

    def constants(self, file: File, inputs: Sequence[Tensor]) -> list[int]:
        """Write where it begins, and its size."""
        return [
            file.constant("begin", np.array((0, *self.begin), np.int32)),
            file.constant("size", np.array((1, *self.size), np.int32)),
        ]


@dataclass(frozen=True)
class Pad(Operator):
    """Zeros around a picture, or along other axes.

    Attributes:
        before: rows above and columns to the left.
        after: rows below and columns to the right.
        axes: those that are padded.
    """

    before: int
    after: int
    axes: tuple[int, ...] = (1, 2)

    code = "PAD"
    same_scale = True

    def _amounts(self, shape: Shape) -> list[tuple[int, int]]:
        pads = (self.before, self.after)
        return [pads if axis in self.axes else (0, 0) for axis in range(len(shape))]

    def shapes(self, *shapes: Shape) -> list[Shape]:
        """Return that of the output."""
        amounts = self._amounts(shapes[0])
        return [tuple(n + sum(more) for n, more in zip(shapes[0], amounts, strict=True))]

    def compute(self, run: FloatRun, *arrays: Array) -> list[Array]:
        """Pad."""
        return [np.pad(arrays[0], self._amounts(arrays[0].shape))]

    def constants(self, file: File, inputs: Sequence[Tensor]) -> list[int]:
        """Write the amounts."""
        amounts = np.array(self._amounts(inputs[0].shape), np.int32)
        return [file.constant("paddings", amounts)]


class Pack(Operator):
    """Values of equal shape, side by side on a new last axis."""

    code = "PACK"
    same_scale = True

    def shapes(self, *shapes: Shape) -> list[Shape]:
        """Return that of the output."""
        return [(*shapes[0], len(shapes))]

    def compute(self, run: FloatRun, *arrays: Array) -> list[Array]:
        """Stack."""
        return [np.stack(np.broadcast_arrays(*arrays), -1)]

    def write(
        self, file: File, inputs: Sequence[Tensor], outputs: Sequence[TensorType]
    ) -> list[Tensor]:
        """Write it, with its number of values and its axis."""
        options: dict[str, Any] = {"values_count": len(inputs), "axis": len(inputs[0].shape)}
        return file.layer(self.code, [tensor.index for tensor in inputs], outputs, **options)


@dataclass(frozen=True)
class ArgMax(Operator):
    """The place of the largest value along an axis other than the first, which goes."""

    axis: int

    code = "ARG_MAX"

    def shapes(self, *shapes: Shape) -> list[Shape]:
        """Return that of the output."""
        return [(*shapes[0][: self.axis], *shapes[0][self.axis + 1 :])]

    def dtype(self, *dtypes: str) -> str:
        """Return int32."""
        return "int32"

    def compute(self, run: FloatRun, *arrays: Array) -> list[Array]:
        """Find the places."""
        return [arrays[0].argmax(self.axis).astype(np.int32)]

    def constants(self, file: File, inputs: Sequence[Tensor]) -> list[int]:
        """Write the axis."""
        return [file.constant("axis", np.array(self.axis, np.int32))]

    def options(self) -> dict[str, Any]:
        """Return the dtype of places."""
        return {"output_type": "int32"}


class GatherNd(Operator):
    """What lies at places of an array: int32 [1, count, axes], of which the first axis is 0."""

    code = "GATHER_ND"
    same_scale = True

    def shapes(self, *shapes: Shape) -> list[Shape]:
        """Return that of the output."""
        data, places = shapes
        return [(*places[:-1], *data[places[-1] :])]

    def compute(self, run: FloatRun, *arrays: Array) -> list[Array]:
        """Gather, from each sample what its own places say."""
        data, places = arrays
        return [np.stack([x[tuple(at.T[1:])] for x, at in zip(data, places, strict=True)])]
