"""Operators of states that a model keeps from one run to the next."""

import numpy as np

from frontends.tflite.quantization import Quantization
from tests.differential.variables import handle
from tests.edges.draw import ACTIVATIONS, Draw, drawn
from tests.support.composites import runs
from tests.support.recurrent_layers import (
    CODE,
    DATA,
    AnyLayer,
    BasicLstm,
    BothWays,
    Lstm,
    Rnn,
    parts,
)
from tests.support.tflite import fixed
from tests.support.tflite_graphs import Subgraph, unary


@drawn("VAR_HANDLE", "READ_VARIABLE", "ASSIGN_VARIABLE", "CALL_ONCE")
def keep(draw: Draw) -> None:
    shape, dtype = draw.shape(1, 5), draw.dtype()
    encoding = draw.encoding(dtype)
    shape = tuple(max(size, 1) for size in shape)
    writer, first = draw.writer, draw.data(dtype, shape)
    begin = writer.subgraph()
    writer.operator("CALL_ONCE", [], [], init_subgraph_index=1 if draw.chance(0.95) else 2)
    constant = begin.tensor("first", shape, dtype, encoding, first)
    begin.operator("ASSIGN_VARIABLE", [handle(begin, "v"), constant], [])
    begin.end([], [])
    known = handle(writer, "v")
    if draw.chance(0.7):
        writer.operator("ASSIGN_VARIABLE", [known, draw.operand(shape, dtype, encoding)], [])
    draw.code = "READ_VARIABLE"
    draw.make([known], (dtype, encoding), shape=shape)


@drawn("SVDF")
def filter_over_time(draw: Draw) -> None:
    batch, size, units, rank, steps = (max(draw.size(), 1) for _ in range(5))
    if draw.chance(0.5):
        _real_filter(draw, (batch, size), (units, rank, steps))
        return
    filters = units * rank + int(draw.chance(0.05))
    scales = [Quantization.per_tensor(float(draw.choice(0.01, 0.3, 2.0)), 0) for _ in range(3)]
    operands = [
        draw.operand((batch, size), "int8", draw.encoding("int8")),
        draw.constant(draw.data("int8", (filters, size)), scales[0]),
        draw.constant(draw.data("int16", (filters, steps)), scales[1]),
        draw.constant(draw.data("int32", (units,)) // 1024) if draw.chance(0.5) else -1,
        draw.writer.tensor("s", (batch, filters * steps), "int16", scales[2], is_variable=True),
    ]
    activation = "RELU" if draw.chance(0.95) else "NONE"
    result = ("int8", draw.encoding("int8", 5.0))
    draw.make(operands, result, rank=rank, fused_activation_function=activation)


def _real_filter(draw: Draw, shape: tuple[int, int], sizes: tuple[int, int, int]) -> None:
    """Draw one of float32 data, and weights of float32 or of bytes."""
    units, rank, steps = sizes
    filters = units * rank + int(draw.chance(0.05))
    dtype = str(draw.choice("float32", "int8", "uint8"))
    operands = [draw.operand(shape, "float32")]
    for columns in (shape[1], steps):
        encoding = None if dtype == "float32" else Quantization.per_tensor(0.02, 0)
        array = draw.data("int8" if encoding else dtype, (filters, columns))
        array = np.maximum(array, -127).view(dtype)
        operands.append(draw.constant(array, encoding))
    operands.append(draw.constant(draw.data("float32", (units,))) if draw.chance(0.5) else -1)
    kept = (shape[0], filters * steps)
    operands.append(draw.writer.tensor("s", kept, "float32", is_variable=True))
    activation = str(draw.choice(*ACTIVATIONS))
    draw.make(operands, ("float32", None), rank=rank, fused_activation_function=activation)


@drawn("RNN", "UNIDIRECTIONAL_SEQUENCE_RNN")
def loop(draw: Draw) -> None:
    batch, size, units = (draw.size() for _ in range(3))
    rnn = Rnn(
        *(str(draw.choice("float32", "int8", "uint8")), batch),
        steps=None if draw.code == "RNN" else max(draw.size(), 1),
        size=size,
        units=max(units, 1),
        activation=str(draw.choice("TANH", *ACTIVATIONS[1:])),
        time_major=draw.chance(0.5),
        asymmetric=draw.chance(0.5),
    )
    _make(draw, rnn, 0.1)


def _make(draw: Draw, layer: AnyLayer, share: float, *data: int) -> None:
    """Add a layer over time; in a share of models one operand takes another one's place."""
    data = data or tuple(draw.input(draw.data("float32", shape)) for shape, *_ in layer.takes)
    operands, options = parts(layer, draw.writer, draw.rng, *data)
    if draw.chance(share):
        operands[int(draw.rng.integers(1, len(operands)))] = draw.choice(-1, *operands[1:])
    draw.make(operands, *((dtype, encoding) for _, dtype, encoding in layer.gives), **options)


@drawn("BIDIRECTIONAL_SEQUENCE_LSTM", "BIDIRECTIONAL_SEQUENCE_RNN")
def both_ways(draw: Draw) -> None:
    batch, steps, size, units = (max(draw.size(), 1) for _ in range(4))
    weights = str(draw.choice("float32", "int8", "uint8"))
    kind: type[Lstm | Rnn] = Lstm if draw.code.endswith("LSTM") else Rnn
    layer = kind(weights, batch, steps, size, units, time_major=draw.chance(0.5))
    beside = draw.choice(0, size, draw.size())
    flags = draw.chance(0.5), beside, draw.chance(0.5)
    both = BothWays(layer, max(draw.size(), 1), *flags)
    _make(draw, both, 0.1)


@drawn("STABLEHLO_COMPOSITE")
def combine(draw: Draw) -> None:
    shape, dtype = draw.shape(0, 4), draw.dtype()
    encoding = draw.encoding(dtype)
    tensors = {"a b c": (shape, dtype, encoding), "s": fixed(shape, "int32")}
    gives = "c" if draw.chance(0.9) else "c a"
    Subgraph(tensors, [("RESHAPE", "b s", "c")], "a b", gives).add_to(draw.writer)
    operands = [draw.operand(shape, dtype, encoding) for _ in range(2)]
    number = 1 if draw.chance(0.95) else draw.choice(0, 2, -1)
    draw.make(operands, (dtype, encoding), shape=shape, **runs(number))


@drawn("WHILE", "IF")
def control(draw: Draw) -> None:
    shape, encoding = draw.shape(1, 4), draw.encoding("int8")
    shape = tuple(max(size, 1) for size in shape)
    flag = draw.constant(np.array(draw.chance(0.5)))
    data = draw.operand(shape, "int8", encoding)
    for code in ("RELU", "RELU6"):
        unary(code, shape, "int8", encoding).add_to(draw.writer)
    draw.code = "IF"
    numbers = {"then_subgraph_index": 1, "else_subgraph_index": 2 + int(draw.chance(0.05))}
    draw.make([flag, data], ("int8", encoding), shape=shape, **numbers)


@drawn("STABLEHLO_CASE")
def choose(draw: Draw) -> None:
    shape, dtype = draw.shape(1, 4), draw.dtype()
    encoding = draw.encoding(dtype)
    shape = tuple(max(size, 1) for size in shape)
    count = int(draw.rng.integers(1, 5))
    number = draw.rng.integers(-1, count + 2, draw.choice((), (1,), (1, 1), shape[:1]))
    given = draw.constant if draw.chance(0.5) else draw.input
    index = given(np.asarray(number, "int64" if draw.chance(0.05) else "int32"))
    data = draw.input(draw.data(dtype, shape), encoding)
    for _ in range(count):
        tensors = {"a b": (shape, dtype, encoding), "axis": fixed([draw.axis(len(shape))], "int32")}
        Subgraph(tensors, [("REVERSE_V2", "a axis", "b")], "a", "b").add_to(draw.writer)
    # LiteRT dies of fewer branches than subgraphs.
    branches = [1 + int(place) for place in draw.rng.permutation(count)]
    options = {"branch_subgraph_indices": branches, "version": 1}
    draw.make([index, data], (dtype, encoding), shape=shape, **options)


@drawn("LSTM", CODE)
def remember(draw: Draw) -> None:
    batch, steps, size, cells = (draw.size() for _ in range(4))
    cells = max(cells, 1)
    if draw.code == "LSTM" and draw.chance(0.3):
        _remember_step(draw)
        return
    is_real = draw.code == "LSTM" or draw.chance(0.5)
    # To more outputs of float32 than cells LiteRT writes beyond its memory.
    most = cells if is_real else 99
    lstm = Lstm(
        str(draw.choice("float32", "int8", "uint8")) if is_real else "int8",
        *(batch, None if draw.code == "LSTM" else steps, size, cells),
        activation=str(draw.choice("TANH", "TANH", "RELU6")) if is_real else "TANH",
        outputs=draw.choice(0, min(max(draw.size(), 1), most)),
        coupled=draw.chance(0.5),
        peepholes=is_real and draw.chance(0.5),
        norm=draw.chance(0.3),
        time_major=draw.chance(0.5),
        asymmetric=is_real and draw.chance(0.5),
        cell_scale=None if is_real else int(draw.rng.integers(-15, -8)),
        cell_clip=draw.choice(0.0, 0.0, 1.0),
    )
    ((shape, dtype, _),) = lstm.takes
    _make(draw, lstm, 0.2, draw.input(draw.data(dtype, shape), draw.encoding(dtype)))


def _remember_step(draw: Draw) -> None:
    batch, size, units = (max(draw.size(), 1) for _ in range(3))
    lstm = BasicLstm(batch, size, units, float(draw.choice(0.001, 0.02, 0.3, 1e5)))
    data = draw.operand((batch, size), "uint8", draw.choice(DATA, draw.encoding("uint8")))
    _make(draw, lstm, 0.1, data)
