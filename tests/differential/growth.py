"""Grows a graph from all the steps there are."""

# Importing them registers their steps.
from tests.differential import (  # noqa: F401
    control,
    detection,
    elementwise,
    integers,
    kinds,
    layers,
    moves,
    near,
    reals,
    scatter,
    single,
    variables,
)
from tests.differential.graphs import INT16_STEPS, STEPS, Graph, Value

_ABSENT = "LiteRT's reference kernels lack it"
_NO_INT16 = "LiteRT takes no int16"
_RECURRENT = ("SVDF", "UNIDIRECTIONAL_SEQUENCE_LSTM")
NOT_DRAWN = {
    "quantized": {"ELU": _ABSENT},
    "floats": dict.fromkeys(("CEIL", "ELU", "ROUND"), _ABSENT),
    "unscaled": {
        **dict.fromkeys(
            ("EXP", "GELU", "L2_NORMALIZATION", "LOGISTIC", "SOFTMAX", "TANH"),
            "their results have a scale",
        ),
        "SUB": "LiteRT ends where an operand has no scale",
    },
    "data": dict.fromkeys(
        ("SEGMENT_SUM", "STABLEHLO_AND", "STABLEHLO_CASE", "STABLEHLO_SHIFT_LEFT"), _ABSENT
    ),
    "moves of int16": {
        **dict.fromkeys(
            ("DEPTH_TO_SPACE", "SPACE_TO_DEPTH", "SCATTER_ND", "SPARSE_TO_DENSE"), _NO_INT16
        ),
        **dict.fromkeys(_RECURRENT, "they take no int16 data"),
    },
}
"""Operators that no step draws, by the kind of their rule, or as moves of int16, and why."""

_LENGTHS = (1, 1, 2, 2, 3, 3, 4, 6)
_CHANNELS = (*range(1, 9), 16, 17, 31, 32, 33, 40, 64, 70)


def grow(graph: Graph) -> None:
    """Add one graph of one to six operators to a file."""
    graph.begin()
    value = _first(graph)
    length, before, tries = int(graph.choice(*_LENGTHS)), len(graph.codes), 0
    while len(graph.codes) - before < length and tries < 40:
        tries += 1
        # Not always from the newest tensor: some are read twice, and graphs have several ends.
        start = value if graph.chance(0.85) else graph.choice(*graph.values)
        steps = INT16_STEPS if start.dtype == "int16" else STEPS
        value = steps[int(graph.rng.integers(len(steps)))](graph, start) or value
    graph.end()


def _first(graph: Graph) -> Value:
    rng = graph.rng
    if graph.chance(0.8):
        height, width = (int(size) for size in rng.integers(1, 14, 2))
        batch, channels = graph.choice(1, 1, 1, 2, 3), graph.choice(*_CHANNELS)
        shape: tuple[int, ...] = (batch, height, width, channels)
    else:
        shape = (int(rng.integers(1, 5)), int(rng.integers(1, 130)))
    return graph.input(shape, str(graph.choice("int8", "int8", "uint8", "uint8", "int16")))
