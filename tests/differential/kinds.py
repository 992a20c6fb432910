"""Steps on tensors that mean themselves: int32, int64, bool and float32; on sizes and constants."""

from math import prod

import numpy as np

from frontends.tflite.quantization import Quantization
from tests.differential import moves, scatter, single
from tests.differential.graphs import OTHERS, Graph, Step, Value, step
from tests.support.sparse import by_rows, sparse_matrix

_NUMBERS = OTHERS[:3]

# LiteRT has the operators of a step for each of these types.
_STEPS: dict[Step, tuple[str, ...]] = {
    **dict.fromkeys((moves.cut, moves.reverse, moves.choose), OTHERS),
    **dict.fromkeys((moves.blocks, scatter.dense), _NUMBERS),
}


@step(weight=8, int16=True)
def of_other_types(graph: Graph, value: Value) -> Value | None:
    """Move, compare and choose what means itself; nothing quantized grows from it."""
    if prod(value.shape) > 3000:
        return None
    dtype = str(graph.choice(*OTHERS))
    other = graph.input(value.shape, dtype)
    for _ in range(int(graph.rng.integers(1, 4))):
        fitting = [each for each, dtypes in _STEPS.items() if other.dtype in dtypes]
        each = single.move if graph.chance(0.7) else graph.choice(*fitting)
        other = each(graph, other) or other
    return value


@step(weight=2, int16=True)
def shape_again(graph: Graph, value: Value) -> Value | None:
    """Work out a shape from sizes, and give the value that shape."""
    if not value.shape:
        return None
    dtype = str(graph.choice("int32", "int32", "int64"))
    sizes = graph.tensor([len(value.shape)], dtype, None)
    graph.operator("SHAPE", [value.index], sizes, out_type=dtype)
    if graph.chance(0.5) and len(value.shape) < 5:
        # One more image, or as many as there are.
        shape = [int(graph.choice(1, 2)), *[1] * len(value.shape)]
        wanted = graph.tensor([len(shape)], dtype, None)
        other = graph.tensor([len(shape)], dtype, None, np.array(shape, dtype)).index
        graph.operator("BROADCAST_ARGS", [sizes.index, other], wanted)
        if shape[0] * prod(value.shape) > 10_000:
            return None
        result = graph.result(value, [shape[0], *value.shape])
        graph.operator("BROADCAST_TO", [value.index, wanted.index], result, version=2)
        return result
    first = graph.tensor([], dtype, None)
    bounds = [graph.constant([each]) for each in (0, 1, 1)]
    graph.operator("STRIDED_SLICE", [sizes.index, *bounds], first, shrink_axis_mask=1)
    rest = graph.tensor([], dtype, None, np.array(prod(value.shape[1:]), dtype)).index
    wanted = graph.tensor([2], dtype, None)
    graph.operator("PACK", [first.index, rest], wanted, axis=0, values_count=2)
    if dtype == "int64":
        small = graph.tensor([2], "int32", None)
        graph.operator("CAST", [wanted.index], small)
        wanted = small
    result = graph.result(value, [value.shape[0], prod(value.shape[1:])])
    graph.operator("RESHAPE", [value.index, wanted.index], result)
    return result


@step(int16=True)
def from_constants(graph: Graph, value: Value) -> Value:
    """Count the elements other than 0, or list their indices; no further operators read it."""
    if graph.chance(0.5):
        dtype = str(graph.choice("int32", "int64"))
        axes = graph.tensor([], "int32", None)
        graph.operator("RANK", [value.index], axes)
        end, step_size = int(graph.rng.integers(1, 20)), int(graph.choice(1, 2, 3))
        numbers = [np.array(each, dtype) for each in (0, end, step_size)]
        operands = [graph.tensor([], dtype, None, each).index for each in numbers]
        result = graph.tensor([-(-end // step_size)], dtype, None)
        graph.operator("RANGE", operands, result)
        return value
    flags = graph.data("bool", [int(size) for size in graph.rng.integers(1, 5, 2)])
    places = graph.tensor([int(flags.sum()), 2], "int64", None)
    graph.operator("WHERE", [graph.constant(flags)], places)
    return value


@step()
def sparse_weights(graph: Graph, value: Value) -> Value | None:
    """Multiply by a sparse matrix, whose nonzero elements are in the file."""
    depth, units = value.shape[-1], int(graph.rng.integers(1, 9))
    if value.dtype != "int8" or len(value.shape) != 2:
        return None
    values, sparsity = by_rows(sparse_matrix(graph.rng, (units, depth)))
    encoding = Quantization.per_tensor(0.01, 0)
    name = f"sparse{value.index}_{len(graph.codes)}"
    stored = graph.writer.tensor(name, (units, depth), "int8", encoding, values, sparsity)
    whole = graph.tensor((units, depth), "int8", encoding)
    graph.operator("DENSIFY", [stored], whole, version=1)
    graph.values.remove(whole)
    result = graph.result(value, (value.shape[0], units), value.scale * float(np.sqrt(depth)))
    graph.operator("FULLY_CONNECTED", [value.index, whole.index], result)
    return result
