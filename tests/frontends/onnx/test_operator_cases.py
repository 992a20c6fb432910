"""Single operators of the standard against ONNX Runtime, a row for each form."""

import re
import warnings
from functools import cache
from typing import Any

import numpy as np
import pytest

import tvm_qnn as qnn
from frontends.onnx import from_onnx
from qnn_ops.errors import QnnError
from tests.support.onnx_graphs import Array, Held, equal, near, one

RNG = np.random.default_rng(5)


def normal(*shape: int, scale: float = 1) -> Array:
    return RNG.normal(0, scale, shape).astype(np.float32)


ROWS = normal(2, 3, 4, 6, scale=2)
EDGES = np.array([[0.5, -0.0, np.nan, np.inf], [-np.inf, -3.5, 1e-30, 3e38]], np.float32)
ZEROS = np.where(np.arange(24).reshape(4, 6) % 6 < 3, np.float32(0), ROWS[0, 0])
BITS = RNG.integers(0, 256, (3, 9)).astype(np.uint8)
SHIFTS = np.array([0, 1, 3, 7, 8, 9, 31, 33, 255], np.uint8)
SQUARES = normal(2, 3, 7, 7)
SQUARES[0, 0, 3] = SQUARES[0, 0, 1]
CORNERS = np.sort(RNG.uniform(-3, 24, (9, 2, 2)), 1).reshape(9, 4).astype(np.float32)
REGIONS = (normal(2, 3, 17, 21), CORNERS, Held(RNG.integers(0, 2, 9)))
GRID: dict[str, Any] = {
    "output_height": 3,
    "output_width": 4,
    "sampling_ratio": 2,
    "spatial_scale": 0.7,
}
LEGACY: dict[str, Any] = {**GRID, "coordinate_transformation_mode": "output_half_pixel"}
IMAGES, OFFSETS = normal(2, 4, 7, 6), normal(2, 2 * 2 * 6, 4, 3, scale=2)
WEIGHTS = normal(4, 2, 3, 2)
MASK = RNG.uniform(0, 1, (2, 2 * 6, 4, 3)).astype(np.float32)
MOVED: dict[str, Any] = {"group": 2, "offset_group": 2, "pads": [1, 1, 1, 0], "strides": [2, 2]}
MOVED["dilations"] = [1, 1]
SIGNAL, COMPLEX = normal(2, 40, 1), normal(2, 5, 2)
HALF = np.fft.rfft(SIGNAL[..., 0]).astype(np.complex64).view(np.float32).reshape(2, 21, 2)
HANN = Held(np.hanning(16).astype(np.float32))

test_every_bit_is_onnx_runtimes = equal(
    {
        "IsNaN": one("IsNaN", EDGES),
        "IsNaN of float64": one("IsNaN", EDGES.astype(np.float64), opset=20),
        "IsInf": one("IsInf", EDGES),
        "IsInf of one sign": one("IsInf", EDGES, detect_negative=0),
        "IsInf of the other": one("IsInf", EDGES, detect_positive=0, opset=20),
        "ReverseSequence": one("ReverseSequence", ROWS, np.array([1, 0, 2])),
        "ReverseSequence of batches": one(
            "ReverseSequence", ROWS, [3, 2], batch_axis=0, time_axis=1
        ),
        "EyeLike": one("EyeLike", ZEROS, k=-1, dtype=6),
        "BitShift left": one("BitShift", BITS, SHIFTS, direction="LEFT"),
        "BitShift right": one("BitShift", BITS, Held(SHIFTS), direction="RIGHT"),
        "CumProd": one("CumProd", ROWS, 3, opset=26),
        "CumProd backwards": one("CumProd", ROWS, -2, reverse=1, exclusive=1, opset=26),
        "Det": one("Det", SQUARES),
        "Det of one matrix": one("Det", SQUARES[0, 0], opset=22),
        "Col2Im": one(
            *("Col2Im", normal(2, 18, 12), [6, 7], [3, 2]),
            pads=[1, 0, 1, 1],
            strides=[2, 2],
            dilations=[1, 1],
            opset=18,
        ),
        "Col2Im with dilations": one(
            "Col2Im", normal(1, 4, 15), [5, 6], [2, 2], dilations=[2, 1], opset=18
        ),
        "RoiAlign": one("RoiAlign", *REGIONS, **GRID, opset=16),
        "RoiAlign of whole pixels": one("RoiAlign", *REGIONS, **LEGACY, opset=16),
    }
)

# The largest of 0 and -0 depends on the order in which they are compared.
test_largest_products_are_onnx_runtimes = equal(
    {"RoiAlign": one("RoiAlign", *REGIONS, **GRID, mode="max", opset=16)}, signed_zeros=False
)

# Sums have another order, or functions are another library's.
test_sums_are_near = near(
    {
        "ReduceLogSum": one("ReduceLogSum", abs(ROWS), axes=[1, 3], opset=13),
        "ReduceLogSumExp": one("ReduceLogSumExp", ROWS, [1], keepdims=0, opset=18),
        "ReduceLogSumExp of all": one("ReduceLogSumExp", 90 * ROWS, opset=13),
        "ReduceLogSumExp of infinities": one("ReduceLogSumExp", EDGES[:, 3:], axes=[1], opset=13),
        "LpNormalization": one("LpNormalization", ROWS, axis=2),
        "LpNormalization of zeros": one("LpNormalization", ZEROS, p=1, axis=0, opset=22),
        "LpPool": one("LpPool", ROWS, kernel_shape=[2, 3], pads=[1, 1, 0, 1]),
        "LpPool with dilations": one(
            *("LpPool", ROWS),
            kernel_shape=[2, 2],
            dilations=[2, 3],
            p=3,
            ceil_mode=1,
            strides=[2, 2],
            opset=18,
        ),
        "LpPool of rows": one("LpPool", ROWS[0], kernel_shape=[3], p=1, opset=18),
        "GlobalLpPool": one("GlobalLpPool", ROWS),
        "STFT": one("STFT", SIGNAL, 5, HANN),
        "DeformConv": one(
            *("DeformConv", IMAGES, Held(WEIGHTS), OFFSETS, Held(WEIGHTS[:, 0, 0, 0]), Held(MASK)),
            **MOVED,
            opset=19,
        ),
        "DeformConv without a mask": one(
            "DeformConv", IMAGES, Held(WEIGHTS), OFFSETS, **MOVED, opset=22
        ),
    },
    2.0**-20,
)

BY_SIZE = one("RoiAlign", *REGIONS, **{**GRID, "sampling_ratio": 0}, opset=16)
test_regions_by_size_are_near = near({"RoiAlign": BY_SIZE}, 2.0**-18)

# ONNX Runtime goes by way of a longer one, less accurately.
test_signals_are_near = near(
    {
        "DFT": one("DFT", SIGNAL, onesided=1),
        "DFT of complex numbers": one("DFT", COMPLEX, None, 0, inverse=1, opset=20),
        "DFT of another length": one("DFT", SIGNAL, 24),
        "DFT of a longer one": one("DFT", COMPLEX, 9, opset=20),
        "DFT of one side, and back": one("DFT", HALF, inverse=1, onesided=1),
        "STFT without a window": one("STFT", SIGNAL, 7, None, 10, onesided=0),
    },
    2.0**-15,
)


onnx = pytest.importorskip("onnx", reason="onnx is not installed")

_NAMES = re.compile(r"^test_(de|dynamic)?quantizelinear|^test_qlinear|integer_|integer$")

_UNTAKEN = {
    "e4m3fn": "is float8_e4m3fn: inputs and outputs may be",
    "e5m2": "is float8_e5m2: inputs and outputs may be",
    "float4e2m1": "is float4_e2m1fn: inputs and outputs may be",
    **{
        dtype: f"is {dtype}: inputs and outputs may be"
        for dtype in ("uint4", "int4", "uint2", "int2")
    },
}

REFUSED = {
    **{
        f"{kind}quantizelinear_{dtype}": reason
        for kind in ("", "de")
        for dtype, reason in _UNTAKEN.items()
    },
    **{f"dequantizelinear_e4m3fn_{kind}": _UNTAKEN["e4m3fn"] for kind in ("float16", "zero_point")},
}
"""Why cases are refused."""


@cache
def cases() -> dict[str, Any]:
    from onnx.backend.test.loader import load_model_tests

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the tests of Cast, which overflow
        found = load_model_tests(kind="node")
    return {each.name.removeprefix("test_"): each for each in found if _NAMES.search(each.name)}


def test_all_cases_are_known() -> None:
    assert len(cases()) >= 45
    assert set(REFUSED) <= set(cases())


def outcome(name: str) -> str:
    """Return what is wrong with a case; empty if nothing is."""
    case = cases()[name]
    if name in REFUSED:
        try:
            from_onnx(case.model)
        except QnnError as error:
            return "" if REFUSED[name] in str(error) else f"{name}: {error}"
        return f"{name}: is not refused"
    mod, params = from_onnx(case.model)
    library = qnn.build(mod, "host", params)
    for inputs, wanted in case.data_sets:
        result = library.run(*inputs)
        results = list(result.values()) if isinstance(result, dict) else [result]
        for each, expected in zip(results, wanted, strict=True):
            is_proto = isinstance(expected, onnx.TensorProto)
            array = onnx.numpy_helper.to_array(expected) if is_proto else expected
            if each.dtype != array.dtype or not np.array_equal(each, array):
                return f"{name}: {each} for {array}"
    return ""


def test_every_case_is_equal_or_refused() -> None:
    assert not [text for text in map(outcome, cases()) if text]
