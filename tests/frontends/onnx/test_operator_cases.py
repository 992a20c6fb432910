"""Single operators of the standard against ONNX Runtime, a row for each form."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.support.onnx_graphs import Array, compiled, model_of, on_runtime

RNG = np.random.default_rng(5)
ROWS = RNG.normal(0, 2, (2, 3, 4, 6)).astype(np.float32)
EDGES = np.array([[0.5, -0.0, np.nan, np.inf], [-np.inf, -3.5, 1e-30, 3e38]], np.float32)
ZEROS = np.where(np.arange(24).reshape(4, 6) % 6 < 3, np.float32(0), ROWS[0, 0])
BITS = RNG.integers(0, 256, (3, 9)).astype(np.uint8)
SHIFTS = np.array([0, 1, 3, 7, 8, 9, 31, 33, 255], np.uint8)
SQUARES = RNG.normal(0, 1, (2, 3, 7, 7)).astype(np.float32)
SQUARES[0, 0, 3] = SQUARES[0, 0, 1]
CORNERS = np.sort(RNG.uniform(-3, 24, (9, 2, 2)), 1).reshape(9, 4).astype(np.float32)
IMAGES = RNG.normal(0, 1, (2, 3, 17, 21)).astype(np.float32)
REGIONS = {"x": IMAGES, "r": CORNERS}
PLACES = {"b": RNG.integers(0, 2, 9)}
GRID = {"output_height": 3, "output_width": 4, "sampling_ratio": 2, "spatial_scale": 0.7}
LEGACY = {**GRID, "coordinate_transformation_mode": "output_half_pixel"}
MOVES = {
    "x": RNG.normal(0, 1, (2, 4, 7, 6)).astype(np.float32),
    "o": RNG.normal(0, 2, (2, 2 * 2 * 6, 4, 3)).astype(np.float32),
}
WEIGHTS = RNG.normal(0, 1, (4, 2, 3, 2)).astype(np.float32)
MASK = RNG.uniform(0, 1, (2, 2 * 6, 4, 3)).astype(np.float32)
MOVED = {"group": 2, "offset_group": 2, "pads": [1, 1, 1, 0], "strides": [2, 2]}
MOVED["dilations"] = [1, 1]
SIGNAL = RNG.normal(0, 1, (2, 40, 1)).astype(np.float32)
COMPLEX = RNG.normal(0, 1, (2, 5, 2)).astype(np.float32)
HALF = np.fft.rfft(SIGNAL[..., 0]).astype(np.complex64).view(np.float32).reshape(2, 21, 2)
HANN = np.hanning(16).astype(np.float32)

Row = tuple[str, str, dict[str, Array], dict[str, Any], dict[str, Any], int, float]
DTYPES = {"BitShift": "uint8", "EyeLike": "int32", "IsInf": "bool", "IsNaN": "bool"}
SAME, SUMS, LONG_WAY = 0.0, 2.0**-20, 2.0**-15
"""How far results may be, as a part of the largest: every bit is the same; sums have another order,
or functions are another library's; ONNX Runtime goes by way of a longer one, less accurately."""
CASES: dict[str, Row] = {
    "IsNaN": ("IsNaN", "x", {"x": EDGES}, {}, {}, 17, SAME),
    "IsNaN of float64": ("IsNaN", "x", {"x": EDGES.astype(np.float64)}, {}, {}, 20, SAME),
    "IsInf": ("IsInf", "x", {"x": EDGES}, {}, {}, 17, SAME),
    "IsInf of one sign": ("IsInf", "x", {"x": EDGES}, {}, {"detect_negative": 0}, 17, SAME),
    "IsInf of the other": ("IsInf", "x", {"x": EDGES}, {}, {"detect_positive": 0}, 20, SAME),
    "ReduceLogSum": ("ReduceLogSum", "x", {"x": abs(ROWS)}, {}, {"axes": [1, 3]}, 13, SUMS),
    "ReduceLogSumExp": (
        "ReduceLogSumExp",
        "x a",
        {"x": ROWS},
        {"a": [1]},
        {"keepdims": 0},
        18,
        SUMS,
    ),
    "ReduceLogSumExp of all": ("ReduceLogSumExp", "x", {"x": 90 * ROWS}, {}, {}, 13, SUMS),
    "ReduceLogSumExp of infinities": (
        "ReduceLogSumExp",
        "x",
        {"x": EDGES[:, 3:]},
        {},
        {"axes": [1]},
        13,
        SUMS,
    ),
    "LpNormalization": ("LpNormalization", "x", {"x": ROWS}, {}, {"axis": 2}, 17, SUMS),
    "LpNormalization of zeros": (
        "LpNormalization",
        "x",
        {"x": ZEROS},
        {},
        {"p": 1, "axis": 0},
        22,
        SUMS,
    ),
    "LpPool": (
        "LpPool",
        "x",
        {"x": ROWS},
        {},
        {"kernel_shape": [2, 3], "pads": [1, 1, 0, 1]},
        17,
        SUMS,
    ),
    "LpPool with dilations": (
        "LpPool",
        "x",
        {"x": ROWS},
        {},
        {"kernel_shape": [2, 2], "dilations": [2, 3], "p": 3, "ceil_mode": 1, "strides": [2, 2]},
        18,
        SUMS,
    ),
    "LpPool of rows": ("LpPool", "x", {"x": ROWS[0]}, {}, {"kernel_shape": [3], "p": 1}, 18, SUMS),
    "GlobalLpPool": ("GlobalLpPool", "x", {"x": ROWS}, {}, {}, 17, SUMS),
    "ReverseSequence": (
        "ReverseSequence",
        "x n",
        {"x": ROWS, "n": np.array([1, 0, 2])},
        {},
        {},
        17,
        SAME,
    ),
    "ReverseSequence of batches": (
        "ReverseSequence",
        "x n",
        {"x": ROWS},
        {"n": np.array([3, 2])},
        {"batch_axis": 0, "time_axis": 1},
        17,
        SAME,
    ),
    "EyeLike": ("EyeLike", "x", {"x": ZEROS}, {}, {"k": -1, "dtype": 6}, 17, SAME),
    "BitShift left": (
        "BitShift",
        "x s",
        {"x": BITS, "s": SHIFTS},
        {},
        {"direction": "LEFT"},
        17,
        SAME,
    ),
    "BitShift right": (
        "BitShift",
        "x s",
        {"x": BITS},
        {"s": SHIFTS},
        {"direction": "RIGHT"},
        17,
        SAME,
    ),
    "CumProd": ("CumProd", "x n", {"x": ROWS}, {"n": np.int64(3)}, {}, 26, SAME),
    "CumProd backwards": (
        "CumProd",
        "x n",
        {"x": ROWS},
        {"n": np.int64(-2)},
        {"reverse": 1, "exclusive": 1},
        26,
        SAME,
    ),
    "Det": ("Det", "x", {"x": SQUARES}, {}, {}, 17, SAME),
    "Det of one matrix": ("Det", "x", {"x": SQUARES[0, 0]}, {}, {}, 22, SAME),
    "Col2Im": (
        "Col2Im",
        "x i b",
        {"x": RNG.normal(0, 1, (2, 18, 12)).astype(np.float32)},
        {"i": np.array([6, 7]), "b": np.array([3, 2])},
        {"pads": [1, 0, 1, 1], "strides": [2, 2], "dilations": [1, 1]},
        18,
        SAME,
    ),
    "Col2Im with dilations": (
        "Col2Im",
        "x i b",
        {"x": RNG.normal(0, 1, (1, 4, 15)).astype(np.float32)},
        {"i": np.array([5, 6]), "b": np.array([2, 2])},
        {"dilations": [2, 1]},
        18,
        SAME,
    ),
    "DFT": ("DFT", "x", {"x": SIGNAL}, {}, {"onesided": 1}, 17, LONG_WAY),
    "DFT of complex numbers": (
        "DFT",
        "x _ a",
        {"x": COMPLEX},
        {"a": np.int64(0)},
        {"inverse": 1},
        20,
        LONG_WAY,
    ),
    "DFT of another length": ("DFT", "x n", {"x": SIGNAL}, {"n": np.int64(24)}, {}, 17, LONG_WAY),
    "DFT of a longer one": ("DFT", "x n", {"x": COMPLEX}, {"n": np.int64(9)}, {}, 20, LONG_WAY),
    "DFT of one side, and back": (
        "DFT",
        "x",
        {"x": HALF},
        {},
        {"inverse": 1, "onesided": 1},
        17,
        LONG_WAY,
    ),
    "STFT": ("STFT", "x h w", {"x": SIGNAL}, {"h": np.int64(5), "w": HANN}, {}, 17, SUMS),
    "STFT without a window": (
        "STFT",
        "x h _ n",
        {"x": SIGNAL},
        {"h": np.int64(7), "n": np.int64(10)},
        {"onesided": 0},
        17,
        LONG_WAY,
    ),
    "RoiAlign": ("RoiAlign", "x r b", REGIONS, PLACES, GRID, 16, SAME),
    "RoiAlign of whole pixels": ("RoiAlign", "x r b", REGIONS, PLACES, LEGACY, 16, SAME),
    "RoiAlign of the largest": (
        "RoiAlign",
        "x r b",
        REGIONS,
        PLACES,
        {**GRID, "mode": "max"},
        16,
        SAME,
    ),
    "RoiAlign by size": (
        "RoiAlign",
        "x r b",
        REGIONS,
        PLACES,
        {**GRID, "sampling_ratio": 0},
        16,
        2.0**-18,
    ),
    "DeformConv": (
        "DeformConv",
        "x w o b m",
        MOVES,
        {"w": WEIGHTS, "b": WEIGHTS[:, 0, 0, 0], "m": MASK},
        MOVED,
        19,
        SUMS,
    ),
    "DeformConv without a mask": ("DeformConv", "x w o", MOVES, {"w": WEIGHTS}, MOVED, 22, SUMS),
}


def net_of(case: str) -> tuple[Any, dict[str, Array]]:
    operator, operands, data, constants, attributes, opset, _ = CASES[case]
    constants = {name: np.asarray(each) for name, each in constants.items()}
    result = f"y:{DTYPES.get(operator, 'float32')}"
    return model_of([(operator, operands, "y", attributes)], data, [result], constants, opset), data


@pytest.mark.parametrize("case", CASES)
def test_as_onnx_runtime(case: str) -> None:
    net, data = net_of(case)
    ours, theirs = compiled(net, data)[0], on_runtime(net, data)[0]
    assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
    if not CASES[case][-1]:
        np.testing.assert_array_equal(ours, theirs)
        return
    with np.errstate(invalid="ignore"):
        same = (ours == theirs) | (np.isnan(ours) & np.isnan(theirs))
    away = np.where(same, 0, np.abs(np.where(same, 0, ours) - np.where(same, 0, theirs)))
    finite = np.abs(theirs[np.isfinite(theirs)]).max(initial=0)
    assert away.max() <= CASES[case][-1] * finite
