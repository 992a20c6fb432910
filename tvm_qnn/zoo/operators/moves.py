"""Operators that move elements or choose among them, and keep their scale."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tvm_qnn.zoo.file import QUANTIZED, Array, File, Tensor, TensorType
from tvm_qnn.zoo.float_run import FloatRun, Weights
from tvm_qnn.zoo.graph import Operator, plain


def Concat(axis: int = 3) -> Operator:
    """Return an operator that joins values along an axis other than the first.

    QUANTIZE stands before it where the scale of a signed input is fixed.
    """
    joined = plain("CONCATENATION", {"axis": axis}, {})

    def write(file: File, inputs: Sequence[Tensor], outputs: Sequence[TensorType]) -> list[Tensor]:
        if file.style.dtype != "uint8":
            inputs = [file.requantized(x, outputs[0].quantization) for x in inputs]
        return joined(file, inputs, outputs)

    return Operator(lambda _, *arrays: np.concatenate(arrays, axis=axis), write, joins=True)


def Embed(words: int, depth: int) -> Operator:
    """Return an operator that takes rows [depth] of a table of words, by their numbers."""

    def compute(run: FloatRun, numbers: Array) -> Array:
        table = run.drawn((words, depth))
        run.weights = Weights(table, np.zeros(0, np.float32))
        return table[numbers]

    def write(file: File, inputs: Sequence[Tensor], outputs: Sequence[TensorType]) -> list[Tensor]:
        assert file.weights is not None
        table = file.quantized_constant("table", file.weights.kernel, outputs[0].quantization)
        return file.layer("GATHER", [table, inputs[0].index], outputs, axis=0)

    return Operator(compute, write, QUANTIZED)


def Reshape(shape: tuple[int, ...]) -> Operator:
    """Return an operator that gives each sample another shape; -1 stands for the elements left."""

    def write(file: File, inputs: Sequence[Tensor], outputs: Sequence[TensorType]) -> list[Tensor]:
        whole = np.array(outputs[0].shape, np.int32)
        return plain("RESHAPE", {"new_shape": whole}, {"shape": whole})(file, inputs, outputs)

    return Operator(lambda _, x: x.reshape(len(x), *shape), write, same_scale=True)


def Transpose(order: tuple[int, ...]) -> Operator:
    """Return an operator that permutes the axes; the first one stays."""
    write = plain("TRANSPOSE", {}, {"order": order})
    return Operator(lambda _, x: x.transpose(order), write, same_scale=True)


def Split(parts: int, axis: int = 3) -> Operator:
    """Return an operator that cuts equal parts along an axis; `outputs` adds all of them."""

    def write(file: File, inputs: Sequence[Tensor], outputs: Sequence[TensorType]) -> list[Tensor]:
        operands = [file.constant("axis", np.array(axis, np.int32)), inputs[0].index]
        return file.layer("SPLIT", operands, outputs, num_splits=parts)

    return Operator(lambda _, x: np.split(x, parts, axis), write, same_scale=True)


def Slice(begin: tuple[int, ...], size: tuple[int, ...]) -> Operator:
    """Return an operator that takes `size` elements from `begin` on, except for the first axis."""
    ends = (slice(b, b + n) for b, n in zip(begin, size, strict=True))
    part = (slice(None), *ends)
    write = plain("SLICE", {}, {"begin": (0, *begin), "size": (1, *size)})
    return Operator(lambda _, x: x[part], write, same_scale=True)


def Pad(before: int, after: int, axes: tuple[int, ...] = (1, 2)) -> Operator:
    """Return an operator that puts zeros around a picture, or along other axes."""

    def amounts(rank: int) -> list[tuple[int, int]]:
        return [(before, after) if axis in axes else (0, 0) for axis in range(rank)]

    def write(file: File, inputs: Sequence[Tensor], outputs: Sequence[TensorType]) -> list[Tensor]:
        constants = {"paddings": amounts(len(inputs[0].shape))}
        return plain("PAD", {}, constants)(file, inputs, outputs)

    return Operator(lambda _, x: np.pad(x, amounts(x.ndim)), write, same_scale=True)


def Pack() -> Operator:
    """Return an operator that stacks values of equal shape on a new last axis."""

    def write(file: File, inputs: Sequence[Tensor], outputs: Sequence[TensorType]) -> list[Tensor]:
        options = {"values_count": len(inputs), "axis": len(inputs[0].shape)}
        return plain("PACK", options, {})(file, inputs, outputs)

    def compute(_: FloatRun, *arrays: Array) -> Array:
        return np.stack(np.broadcast_arrays(*arrays), -1)

    return Operator(compute, write, same_scale=True)


def ArgMax(axis: int) -> Operator:
    """Return an operator that finds the index of the largest value, and drops the axis."""
    write = plain("ARG_MAX", {"output_type": "int32"}, {"axis": axis})
    return Operator(lambda _, x: x.argmax(axis).astype(np.int32), write, "int32")


def GatherNd() -> Operator:
    """Return an operator that takes elements at int32 indices [1, count, axes]; the first is 0."""

    def compute(_: FloatRun, data: Array, indices: Array) -> Array:
        pairs = zip(data, indices, strict=True)
        return np.stack([x[tuple(at.T[1:])] for x, at in pairs])

    return Operator(compute, plain("GATHER_ND", {}, {}), same_scale=True)
