"""Operators that remember: samples are the steps of one stream, in their order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from frontends.tflite.quantization import Quantization
from qnn_ops.encoding import Encoding, quantize_array, symmetric
from tvm_qnn.zoo.file import Array, File, Shape, Tensor, TensorType
from tvm_qnn.zoo.float_ops import Real
from tvm_qnn.zoo.float_run import FloatRun, Weights
from tvm_qnn.zoo.graph import Operator

_GATES = 4  # of an LSTM: input, forget, cell, output
_PEEPHOLES, _PROJECTION, _NORM = 3, 2, 4  # how many operands an LSTM leaves out


@dataclass(frozen=True)
class Past(Operator):
    """The last steps of a stream: [N, 1, …] to [N, steps, …], kept in a variable.

    Attributes:
        steps: how many, at least 2; the first of a stream are zeros.
    """

    steps: int

    code = "CONCATENATION"
    same_scale = True

    def shapes(self, *shapes: Shape) -> list[Shape]:
        """Return that of the output."""
        return [(shapes[0][0], self.steps, *shapes[0][2:])]

    def compute(self, run: FloatRun, *arrays: Array) -> list[Array]:
        """Give each sample those before it."""
        return [_windows(arrays[0][:, 0], self.steps)]

    def write(
        self, file: File, inputs: Sequence[Tensor], outputs: Sequence[TensorType]
    ) -> list[Tensor]:
        """Write it, and what reads the variable before it and assigns it after it."""
        (x,), (kind,) = inputs, outputs
        writer, name = file.writer, f"past_{x.index}"
        shape = (kind.shape[0], self.steps - 1, *kind.shape[2:])
        begin = writer.subgraph()
        writer.operator("CALL_ONCE", [], [], init_subgraph_index=writer.subgraphs)
        zeros = np.full(shape, x.encoding.zero_point[0], kind.dtype)
        first = begin.tensor("zeros", shape, kind.dtype, x.quantization, zeros)
        handles = [graph.tensor(name, (1,), "resource") for graph in (begin, writer)]
        for graph, handle in zip((begin, writer), handles, strict=True):
            graph.operator("VAR_HANDLE", [], [handle], shared_name=name)
        begin.operator("ASSIGN_VARIABLE", [handles[0], first], [])
        begin.end([], [])
        kept = TensorType(shape, kind.dtype, x.quantization)
        (old,) = file.layer("READ_VARIABLE", [handles[1]], [kept])
        results = file.layer(self.code, [old.index, x.index], outputs, axis=1)
        ends = [np.array([0, 1, *[0] * len(shape[2:])], np.int32), np.array(shape, np.int32)]
        operands = [file.constant("bound", each) for each in ends]
        (new,) = file.layer("SLICE", [results[0].index, *operands], [kept])
        writer.operator("ASSIGN_VARIABLE", [handles[1], new.index], [])
        return results


def _windows(rows: Array, steps: int) -> Array:
    """Return [N, steps, …] of [N, …]: each row behind those before it."""
    padded = np.concatenate([np.zeros((steps - 1, *rows.shape[1:]), rows.dtype), rows])
    return np.stack([padded[step : step + len(rows)] for step in range(steps)], 1)


@dataclass(frozen=True)
class _SvdfWeights(Weights):
    """Weights of features, and those of time.

    Attributes:
        times: [filters, steps].
        largest: the size of what filters remember.
    """

    times: Real
    largest: float


@dataclass(frozen=True)
class Svdf(Operator):
    """A filter over time of low rank: [N, size] to [N, units], with bias and ReLU.

    Attributes:
        units: of the output.
        steps: what each filter remembers.
        rank: filters of a unit.
    """

    units: int
    steps: int
    rank: int = 1

    code = "SVDF"

    def shapes(self, *shapes: Shape) -> list[Shape]:
        """Return that of the output."""
        return [(shapes[0][0], self.units)]

    def compute(self, run: FloatRun, *arrays: Array) -> list[Array]:
        """Draw weights, and filter."""
        filters = self.units * self.rank
        features = run.drawn((filters, arrays[0].shape[1])) / np.float32(arrays[0].shape[1])
        values = _windows(arrays[0] @ features.T, self.steps)  # [N, steps, filters]
        times = run.drawn((filters, self.steps))
        y = np.einsum("nsf,fs->nf", values, times).reshape(len(values), self.units, -1).sum(2)
        factor, bias = run.normalise(y, "RELU")
        times *= np.repeat(factor, self.rank)[:, np.newaxis]
        run.weights = _SvdfWeights(features, bias, times, float(np.abs(values).max()))
        return [y]

    def write(
        self, file: File, inputs: Sequence[Tensor], outputs: Sequence[TensorType]
    ) -> list[Tensor]:
        """Write it, with weights of features in int8 and those of time in int16, as its memory."""
        weights, (x,) = file.weights, inputs
        assert isinstance(weights, _SvdfWeights)
        state = _per_tensor(symmetric(weights.largest, "int16"))
        features, times = _symmetric(weights.kernel, "int8"), _symmetric(weights.times, "int16")
        scale = float(state.scale[0] * times[1].scale[0])
        bias = np.rint(weights.bias / scale).astype(np.int32)
        operands = [
            x.index,
            file.constant("features", *features),
            file.constant("times", *times),
            file.constant("bias", bias, Quantization.per_tensor(scale, 0)),
            file.variable("memory", TensorType((1, weights.times.size), "int16", state)),
        ]
        relu = {"fused_activation_function": "RELU"}
        return file.layer(self.code, operands, outputs, rank=self.rank, version=3, **relu)


@dataclass(frozen=True)
class _LstmWeights(Weights):
    """Weights of the data [gates · cells, size], and those of hidden values.

    Attributes:
        recurrent: [gates · cells, cells].
        largest: the size of a cell.
    """

    recurrent: Real
    largest: float


@dataclass(frozen=True)
class Lstm(Operator):
    """An LSTM over the steps of [N, steps, size]: [N, steps, cells]; it goes on in the next run.

    Of float32 data it is a hybrid one.

    Attributes:
        cells: how many.
    """

    cells: int

    code = "UNIDIRECTIONAL_SEQUENCE_LSTM"

    def shapes(self, *shapes: Shape) -> list[Shape]:
        """Return that of the output."""
        return [(*shapes[0][:2], self.cells)]

    def compute(self, run: FloatRun, *arrays: Array) -> list[Array]:
        """Draw weights, and run one sample after the other."""
        (x,), count = arrays, _GATES * self.cells
        kernel = run.drawn((count, x.shape[2])) * np.float32(1.5 / np.sqrt(x.shape[2]))
        recurrent = run.drawn((count, self.cells)) / np.sqrt(np.float32(self.cells))
        bias = run.drawn((count,)) * np.float32(0.3)
        sums = x.reshape(-1, x.shape[2]) @ kernel.T + bias
        hidden = cells = np.zeros(self.cells, np.float32)
        results, largest = np.empty((len(sums), self.cells), np.float32), 0.0
        for step, given in enumerate(sums):
            let_in, forget, new, out = np.split(given + recurrent @ hidden, _GATES)
            cells = _logistic(forget) * cells + _logistic(let_in) * np.tanh(new)
            hidden = _logistic(out) * np.tanh(cells)
            results[step], largest = hidden, max(largest, float(np.abs(cells).max()))
        run.weights = _LstmWeights(kernel, bias, recurrent, largest)
        return [results.reshape(*x.shape[:2], self.cells)]

    def write(
        self, file: File, inputs: Sequence[Tensor], outputs: Sequence[TensorType]
    ) -> list[Tensor]:
        """Write it, with a scale for the weights of each gate."""
        weights, (x,), (kind,) = file.weights, inputs, outputs
        assert isinstance(weights, _LstmWeights)
        parts = {"kernel": weights.kernel, "recurrent": weights.recurrent}
        tensors: list[int] = []
        scales = []
        for role, whole in parts.items():
            gates = [_symmetric(each, "int8") for each in np.split(whole, _GATES)]
            tensors += [file.constant(f"{role}_{i}", *each) for i, each in enumerate(gates)]
            scales += [float(encoding.scale[0]) for _, encoding in gates]
        biases = []
        for place, bias in enumerate(np.split(weights.bias, _GATES)):
            if x.quantization is None:
                biases.append(file.constant(f"bias_{place}", bias))
                continue
            scale = float(x.encoding.scale[0]) * scales[place]
            array = np.rint(bias / scale).astype(np.int32)
            biases.append(file.constant(f"bias_{place}", array, Quantization.per_tensor(scale, 0)))
        memory = self._memory(kind, weights.largest)
        states = [file.variable(role, each) for role, each in memory.items()]
        options: dict[str, Any] = {"fused_activation_function": "TANH"}
        if x.quantization is not None:
            gate = TensorType((0,), "int16", Quantization.per_tensor(2.0**-12, 0))
            inner = TensorType((0,), "int8", kind.quantization)
            types = (*[gate] * _GATES, inner)
            options["intermediates"] = [file.tensor("middle", each).index for each in types]
        operands = [x.index, *tensors, *[-1] * _PEEPHOLES, *biases, *[-1] * _PROJECTION, *states]
        return file.layer(self.code, [*operands, *[-1] * _NORM], outputs, **options)

    def _memory(self, kind: TensorType, largest: float) -> dict[str, TensorType]:
        """Return the types of the states; cells of an integer LSTM are int16."""
        shape = (1, self.cells)
        if kind.quantization is None:
            return {role: TensorType(shape, "float32") for role in ("hidden", "cells")}
        exponent = min(max(int(np.ceil(np.log2(largest))), 0), 6) - 15
        return {
            "hidden": TensorType(shape, "int8", kind.quantization),
            "cells": TensorType(shape, "int16", Quantization.per_tensor(2.0**exponent, 0)),
        }


def _logistic(x: Real) -> Real:
    return np.asarray(1 / (1 + np.exp(-x)), np.float32)


def _per_tensor(encoding: Encoding) -> Quantization:
    return Quantization.per_tensor(encoding.scale, encoding.zero_point)


def _symmetric(array: Real, dtype: str) -> tuple[Array, Quantization]:
    """Quantize weights with one scale."""
    encoding = symmetric(float(np.abs(array).max()), dtype)
    return quantize_array(array, encoding), _per_tensor(encoding)
