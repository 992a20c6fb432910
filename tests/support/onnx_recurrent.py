"""LSTM, GRU and RNN of ONNX, with random numbers."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from tests.support.onnx_graphs import Net

GATES = {"DynamicQuantizeLSTM": 4, "GRU": 3, "LSTM": 4, "RNN": 1}
DIRECTIONS = {"forward": 1, "reverse": 1, "bidirectional": 2}


def recurrent(
    op: str,
    *,
    direction: str = "forward",
    steps: int = 5,
    batch: int = 3,
    size: int = 9,
    units: int = 7,
    lengths: tuple[int, ...] | None = None,
    dtype: str = "int8",
    per_channel: bool = False,
    without: str = "",
    results: str = "y h c",
    seed: int = 1,
    opset: int = 17,
    given: Mapping[str, Any] | None = None,
    **attributes: Any,
) -> Net:
    """Return a model of one operator, and its data.

    Args:
        op: the operator.
        direction: of it.
        steps: of the data.
        batch: of the data.
        size: of a step.
        units: of each direction.
        lengths: of sequences, which the run tells.
        dtype: of weights of bytes.
        per_channel: whether these have a scale for each unit.
        without: operands that are left out: b, h, c or p.
        results: as words, ``_`` for none; of the cells only where there are some.
        seed: of the numbers.
        opset: of the model.
        given: constants that replace random ones.
        attributes: of the operator.
    """
    rng, gates, count = np.random.default_rng(seed), GATES[op], DIRECTIONS.get(direction, 1)
    has_cells, columns = gates == GATES["LSTM"], gates * units

    def reals(*shape: int) -> np.ndarray:
        return rng.normal(0, 0.6, shape).astype(np.float32)

    data = {"x": reals(steps, batch, size) * 2}
    constants: dict[str, np.ndarray] = {"w": reals(count, columns, size)}
    constants["r"] = reals(count, columns, units)
    names = dict.fromkeys(("x", "w", "r", "b", "l", "h", "c", "p"), "_")
    names.update({"x": "x", "w": "w", "r": "r"})
    if "b" not in without:
        constants["b"] = reals(count, 2 * columns)
    if lengths is not None:
        data["l"] = np.array(lengths, np.int32)
    if "h" not in without:
        data["h"] = reals(count, batch, units)
    if has_cells and "c" not in without:
        data["c"] = reals(count, batch, units)
    if has_cells and "p" not in without:
        constants["p"] = reals(count, 3 * units)
    if op == "DynamicQuantizeLSTM":
        for key, depth in (("w", size), ("r", units)):
            steps_of = rng.integers(-128, 128, (count, depth, columns)).astype(np.int8)
            constants[key] = steps_of.view(dtype)
            shape = (count, columns) if per_channel else (count,)
            constants[f"{key}s"] = rng.uniform(0.002, 0.01, shape).astype(np.float32)
            points = np.zeros(shape) if dtype == "int8" else np.full(shape, 121) + (key == "w")
            constants[f"{key}z"] = points.astype(dtype)
            names.update({f"{key}s": f"{key}s", f"{key}z": f"{key}z"})
    constants.update(given or {})
    for key in {*data, *constants} & {"b", "l", "h", "c", "p"}:
        names[key] = key
    words = results.split() if has_cells else results.split()[:2]
    node = (
        op,
        " ".join(names.values()).rstrip(" _"),
        " ".join(word if word == "_" else f"out_{word}" for word in words),
        {"direction": direction, "hidden_size": units, **attributes},
    )
    return Net([node], data, constants, opset=opset)
