"""Steps of models that keep something from one run to the next."""

from math import prod

import numpy as np

from frontends.tflite.quantization import Quantization
from frontends.tflite.writer import ModelWriter
from tests.differential.graphs import Graph, Value, step
from tests.support.arrays import full_range
from tests.support.recurrent_layers import DATA, BasicLstm, Lstm, parts


def handle(writer: ModelWriter, name: str) -> int:
    """Return the handle of a variable."""
    index = writer.tensor(f"{name}_handle", (1,), "resource")
    writer.operator("VAR_HANDLE", [], [index], shared_name=name)
    return index


@step(int16=True)
def keep(graph: Graph, value: Value) -> Value | None:
    """Keep the value, and go on with the one that was kept."""
    if 0 in value.shape:
        return None
    name, old = f"v{value.index}_{len(graph.codes)}", graph.result(value, value.shape)
    begin = graph.writer.subgraph()
    graph.writer.operator("CALL_ONCE", [], [], init_subgraph_index=graph.writer.subgraphs)
    first = graph.data(value.dtype, value.shape)
    constant = begin.tensor("first", value.shape, value.dtype, value.encoding, first)
    begin.operator("ASSIGN_VARIABLE", [handle(begin, name), constant], [])
    begin.end([], [])
    known = handle(graph.writer, name)
    graph.operator("READ_VARIABLE", [known], old)
    graph.writer.operator("ASSIGN_VARIABLE", [known, value.index], [])
    graph.codes += ["CALL_ONCE", "VAR_HANDLE", "ASSIGN_VARIABLE"]
    return old


@step(dtypes=("int8",))
def filter_over_time(graph: Graph, value: Value) -> Value | None:
    """Filter rows of int8 as SVDF does; this is the first run, whose past is zeros."""
    if 0 in value.shape or prod(value.shape) > 2000:
        return None
    batch, size = value.shape[0], prod(value.shape[1:])
    rows = graph.result(value, (batch, size))
    shape = graph.constant(np.array([batch, size], np.int32))
    graph.operator("RESHAPE", [value.index, shape], rows)
    rank, units, steps = (int(each) for each in graph.rng.integers(1, 6, 3))
    arrays = [
        full_range(graph.rng, "int8", (rank * units, size)),
        full_range(graph.rng, "int16", (rank * units, steps)),
    ]
    weights = [graph.constant(array, Quantization.per_tensor(0.01, 0)) for array in arrays]
    kept, name = (batch, rank * units * steps), f"s{value.index}_{len(graph.codes)}"
    encoding = Quantization.per_tensor(0.01, 0)
    state = graph.writer.tensor(name, kept, "int16", encoding, is_variable=True)
    result = graph.result(value, (batch, units), 3.0)
    operands = [rows.index, *weights, -1, state]
    graph.operator("SVDF", operands, result, rank=rank, fused_activation_function="RELU")
    return result


@step(dtypes=("int8",))
def remember(graph: Graph, value: Value) -> Value | None:
    """Run an LSTM over rows of int8."""
    if 0 in (*value.shape, len(value.shape)) or prod(value.shape) > 500:
        return None
    rng, size = graph.rng, value.shape[-1]
    batch = value.shape[0] if len(value.shape) > 2 else 1
    steps, cells = prod(value.shape) // size // batch, int(rng.integers(1, 9))
    outputs, time_major = graph.choice(0, int(rng.integers(1, 9))), graph.chance(0.5)
    lstm = Lstm(
        *("int8", batch, steps, size, cells),
        outputs=outputs,
        coupled=graph.chance(0.5),
        # LiteRT goes through as many peepholes as there are outputs.
        peepholes=graph.chance(0.5) and (not outputs or (outputs <= cells and not time_major)),
        norm=graph.chance(0.5),
        time_major=time_major,
        cell_scale=int(rng.integers(-15, -8)),
        cell_clip=graph.choice(0.0, 0.5),
        proj_clip=graph.choice(0.0, 0.3),
        shift=int(rng.integers(-1, 4)),
    )
    ((shape, *_),) = lstm.takes
    rows = graph.result(value, shape)
    graph.operator("RESHAPE", [value.index, graph.constant(np.array(shape, np.int32))], rows)
    operands, options = parts(lstm, graph.writer, rng, rows.index)
    result = graph.tensor(*lstm.gives[0])
    graph.operator(lstm.code, operands, result, **options)
    return result


@step()
def remember_step(graph: Graph, value: Value) -> Value:
    """Run a step of an LSTM of uint8, which goes on in the second run."""
    batch, size, units = (int(each) for each in graph.rng.integers(1, 12, 3))
    scale = float(graph.rng.uniform(0.001, 0.3))
    lstm = BasicLstm(batch, size, units, scale)
    data = graph.aside(graph.data("uint8", (batch, size)), DATA)
    operands, options = parts(lstm, graph.writer, graph.rng, data)
    made = [graph.tensor(*kind) for kind in lstm.gives]
    graph.operator("LSTM", operands, *made, **options)
    return made[0] if value.dtype == "uint8" else value
