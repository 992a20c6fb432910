"""The onnx package's own tests of quantized operators: equal, or refused with a reason."""

import re
import warnings
from functools import cache
from typing import Any

import numpy as np
import pytest

import tvm_qnn as qnn
from frontends.onnx import from_onnx
from qnn_ops.errors import QnnError

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
