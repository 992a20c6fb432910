"""Operators with a memory: samples are the steps of one stream in order."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from frontends.tflite.quantization import Quantization
from qnn_ops.arithmetic.encoding import quantize_array, symmetric
from tvm_qnn.zoo.file import File, Tensor, quantization_of
from tvm_qnn.zoo.float_ops import Real
from tvm_qnn.zoo.float_run import FloatRun, Weights
from tvm_qnn.zoo.graph import Operator, Tensors

_GATES = 4  # the gates of an LSTM: input, forget, cell, output
_PEEPHOLES, _PROJECTION, _NORM = 3, 2, 4  # optional operands that an LSTM leaves out


def Past(steps: int) -> Operator:
    """Return the last steps of a stream: [N, 1, …] becomes [N, steps, …], kept in a variable.

    One operator before it reads the variable, and one after it assigns the variable.

    Args:
        steps: how many, at least 2; zeros stand before the first step of a stream.
    """

    def write(file: File, inputs: Tensors, outputs: Tensors) -> list[Tensor]:
        (x,), (kind,) = inputs, outputs
        writer, name = file.writer, f"past_{x.index}"
        shape = (kind.shape[0], steps - 1, *kind.shape[2:])
        begin = writer.subgraph()
        writer.operator("CALL_ONCE", [], [], init_subgraph_index=writer.subgraphs)
        zeros = np.full(shape, x.encoding.zero_point[0], kind.dtype)
        first = begin.tensor("zeros", shape, kind.dtype, x.quantization, zeros)
        handles = [graph.tensor(name, (1,), "resource") for graph in (begin, writer)]
        for graph, handle in zip((begin, writer), handles, strict=True):
            graph.operator("VAR_HANDLE", [], [handle], shared_name=name)
        begin.operator("ASSIGN_VARIABLE", [handles[0], first], [])
        begin.end([], [])
        kept = Tensor(shape, kind.dtype, x.quantization)
        (old,) = file.layer("READ_VARIABLE", [handles[1]], [kept])
        results = file.layer("CONCATENATION", [old.index, x.index], outputs, axis=1)
        ends = [np.array([0, 1, *[0] * len(shape[2:])], np.int32), np.array(shape, np.int32)]
        operands = [file.constant("bound", each) for each in ends]
        (new,) = file.layer("SLICE", [results[0].index, *operands], [kept])
        writer.operator("ASSIGN_VARIABLE", [handles[1], new.index], [])
        return results

    return Operator(lambda _, x: _windows(x[:, 0], steps), write, same_scale=True)


def _windows(rows: np.ndarray, steps: int) -> np.ndarray:
    """Return [N, steps, …] from [N, …]: each row after the rows before it."""
    padded = np.concatenate([np.zeros((steps - 1, *rows.shape[1:]), rows.dtype), rows])
    return np.stack([padded[step : step + len(rows)] for step in range(steps)], 1)


def _variable(file: File, role: str, kind: Tensor) -> int:
    """Add a variable that the next operator keeps from run to run, and return its index."""
    name = f"layer_{file.layers}/{role}"
    return file.writer.tensor(name, kind.shape, kind.dtype, kind.quantization, is_variable=True)


@dataclass(frozen=True)
class _SvdfWeights(Weights):
    """The weights for features, and those for time.

    Attributes:
        times: [filters, steps].
        largest: the greatest magnitude in the filters' memory.
    """

    times: Real
    largest: float


def Svdf(units: int, steps: int, rank: int = 1) -> Operator:
    """Return a filter over time of low rank: [N, size] becomes [N, units], with bias and ReLU.

    Weights for features are int8; those for time, and the memory, are int16.

    Args:
        units: the output's units.
        steps: the steps that each filter remembers.
        rank: the filters of a unit.
    """

    def compute(run: FloatRun, x: np.ndarray) -> np.ndarray:
        filters = units * rank
        features = run.drawn((filters, x.shape[1])) / np.float32(x.shape[1])
        values = _windows(x @ features.T, steps)  # [N, steps, filters]
        times = run.drawn((filters, steps))
        y = np.einsum("nsf,fs->nf", values, times).reshape(len(values), units, -1).sum(2)
        factor, bias = run.normalise(y, "RELU")
        times *= np.repeat(factor, rank)[:, np.newaxis]
        run.weights = _SvdfWeights(features, bias, times, float(np.abs(values).max()))
        return y

    def write(file: File, inputs: Tensors, outputs: Tensors) -> list[Tensor]:
        weights, (x,) = file.weights, inputs
        assert isinstance(weights, _SvdfWeights)
        state = quantization_of(symmetric(weights.largest, "int16"))
        features, times = _symmetric(weights.kernel, "int8"), _symmetric(weights.times, "int16")
        scale = float(state.scale[0] * times[1].scale[0])
        bias = np.rint(weights.bias / scale).astype(np.int32)
        operands = [
            x.index,
            file.constant("features", *features),
            file.constant("times", *times),
            file.constant("bias", bias, Quantization.per_tensor(scale, 0)),
            _variable(file, "memory", Tensor((1, weights.times.size), "int16", state)),
        ]
        relu = {"fused_activation_function": "RELU"}
        return file.layer("SVDF", operands, outputs, rank=rank, version=3, **relu)

    return Operator(compute, write)


@dataclass(frozen=True)
class _LstmWeights(Weights):
    """The weights for data [gates · cells, size], and those for hidden values.

    Attributes:
        recurrent: [gates · cells, cells].
        largest: the greatest magnitude of a cell.
    """

    recurrent: Real
    largest: float


def Lstm(cells: int) -> Operator:
    """Return an LSTM over steps, [N, steps, size] to [N, steps, cells]; the next run continues it.

    For float32 data it is a hybrid one. The weights of each gate have a scale.
    """

    def compute(run: FloatRun, x: np.ndarray) -> np.ndarray:
        count = _GATES * cells
        kernel = run.drawn((count, x.shape[2])) * np.float32(1.5 / np.sqrt(x.shape[2]))
        recurrent = run.drawn((count, cells)) / np.sqrt(np.float32(cells))
        bias = run.drawn((count,)) * np.float32(0.3)
        sums = x.reshape(-1, x.shape[2]) @ kernel.T + bias
        hidden = kept = np.zeros(cells, np.float32)
        results, largest = np.empty((len(sums), cells), np.float32), 0.0
        for step, given in enumerate(sums):
            let_in, forget, new, out = np.split(given + recurrent @ hidden, _GATES)
            kept = _logistic(forget) * kept + _logistic(let_in) * np.tanh(new)
            hidden = _logistic(out) * np.tanh(kept)
            results[step], largest = hidden, max(largest, float(np.abs(kept).max()))
        run.weights = _LstmWeights(kernel, bias, recurrent, largest)
        return results.reshape(*x.shape[:2], cells)

    return Operator(compute, _write_lstm)


def _write_lstm(file: File, inputs: Tensors, outputs: Tensors) -> list[Tensor]:
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
    for gate, bias in enumerate(np.split(weights.bias, _GATES)):
        if x.quantization is None:
            biases.append(file.constant(f"bias_{gate}", bias))
            continue
        scale = float(x.encoding.scale[0]) * scales[gate]
        array = np.rint(bias / scale).astype(np.int32)
        biases.append(file.constant(f"bias_{gate}", array, Quantization.per_tensor(scale, 0)))
    memory = _lstm_memory(kind, weights.largest)
    states = [_variable(file, role, each) for role, each in memory.items()]
    options: dict[str, Any] = {"fused_activation_function": "TANH"}
    if x.quantization is not None:
        sums = Tensor((0,), "int16", Quantization.per_tensor(2.0**-12, 0))
        inner = Tensor((0,), "int8", kind.quantization)
        types = (*[sums] * _GATES, inner)
        options["intermediates"] = [file.tensor("middle", each).index for each in types]
    operands = [x.index, *tensors, *[-1] * _PEEPHOLES, *biases, *[-1] * _PROJECTION, *states]
    code = "UNIDIRECTIONAL_SEQUENCE_LSTM"
    return file.layer(code, [*operands, *[-1] * _NORM], outputs, **options)


def _lstm_memory(kind: Tensor, largest: float) -> dict[str, Tensor]:
    """Return the types of the states; the cells of an integer LSTM are int16."""
    shape = (1, kind.shape[-1])
    if kind.quantization is None:
        return {role: Tensor(shape, "float32") for role in ("hidden", "cells")}
    exponent = min(max(int(np.ceil(np.log2(largest))), 0), 6) - 15
    return {
        "hidden": Tensor(shape, "int8", kind.quantization),
        "cells": Tensor(shape, "int16", Quantization.per_tensor(2.0**exponent, 0)),
    }


def _logistic(x: Real) -> Real:
    return np.asarray(1 / (1 + np.exp(-x)), np.float32)


def _symmetric(array: Real, dtype: str) -> tuple[np.ndarray, Quantization]:
    """Quantize weights with one scale."""
    encoding = symmetric(float(np.abs(array).max()), dtype)
    return quantize_array(array, encoding), quantization_of(encoding)
