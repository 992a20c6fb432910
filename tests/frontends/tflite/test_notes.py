"""Warnings about a whole model: sums that wrap, operators that TFLM computes otherwise."""

import warnings
from typing import Any

import numpy as np
import pytest

from frontends.errors import UnsupportedOperatorError
from frontends.formats import read_model
from frontends.tflite import NotQuantizedWarning, from_tflite
from frontends.tflite.operators import codes_with
from frontends.tflite.quantization import Quantization
from qnn_ops.errors import QnnError
from tests.frontends.tflite.converters.test_variables import ring
from tests.support.tflite import Operand, Output, Q, Sheet, check_refused, fixed, given, one, x
from tests.support.tflite_graphs import Subgraph, model_of
from tests.support.tflm import golden, golden_names
from tvm_qnn import build, digits
from tvm_qnn.oracle import litert_tensors


def computed(content: bytes, inputs: list[np.ndarray], semantics: str) -> list[np.ndarray]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mod, params = from_tflite(content, semantics=semantics)
    made: Any = build(mod, "host", params).run(*inputs)
    return [*made.values()] if isinstance(made, dict) else [made]


def unary(code: str, dtype: str, *, scale: float = 0.1) -> bytes:
    data = x(4, dtype=dtype, encoding=Quantization.per_tensor(0.1, 0))
    return one(code, data, gives=((4,), dtype, Quantization.per_tensor(scale, 0))).model()


def test_every_operator_is_in_the_fixture() -> None:
    missing = {*codes_with("micro")} - {name.rsplit("-", 1)[0] for name in golden_names()}
    assert missing == set()


@pytest.mark.parametrize("name", golden_names())
def test_integers_are_tflm_s(name: str) -> None:
    content, inputs, outputs = golden(name)
    for mine, wanted in zip(computed(content, inputs, "tflm"), outputs, strict=True):
        np.testing.assert_array_equal(mine, wanted, strict=True)


@pytest.mark.parametrize("name", ["FULLY_CONNECTED-0", "FULLY_CONNECTED-1", "RELU-0"])
def test_litert_s_differ_by_one_now_and_then(name: str) -> None:
    content, inputs, (wanted,) = golden(name)
    tensors = litert_tensors(content, inputs)
    (litert_s,) = computed(content, inputs, "litert")
    np.testing.assert_array_equal(litert_s, tensors[max(tensors)])
    differences = litert_s.astype(int) - wanted
    assert 0 < np.count_nonzero(differences) < differences.size // 10
    assert np.abs(differences).max() == 1


def test_relu6_leaves_the_scale_as_it_is_in_subgraphs_too() -> None:
    encodings = {"x": Quantization.per_tensor(0.1, 0), "y": Quantization.per_tensor(0.05, 0)}
    tensors = {name: ((4,), "int8", encoding) for name, encoding in encodings.items()}
    numbers = {"then_subgraph_index": 1, "else_subgraph_index": 1}
    nodes = [("IF", "which x", "y", numbers)]
    main = Subgraph({**tensors, "which": ((1,), "bool")}, nodes, "which x", "y")
    chosen = model_of(main, Subgraph(tensors, [("RELU6", "x", "y")], "x", "y"))
    data = np.array([-5, 7, 60, 61], np.int8)
    plain = unary("RELU6", "int8", scale=0.05)
    for content, inputs in ((plain, [data]), (chosen, [np.array([True]), data])):
        assert computed(content, inputs, "tflm")[0].tolist() == [0, 7, 60, 60]
        assert computed(content, inputs, "litert")[0].tolist() == [0, 14, 120, 120]


@pytest.mark.parametrize(
    ("code", "dtype", "operands"),
    [
        ("GELU", "int8", "it"),
        ("RELU", "uint8", "tensors of type uint8"),
        ("RELU", "int16", "tensors of type int16"),
    ],
)
def test_what_is_not_held_to_tflm_is_refused(code: str, dtype: str, operands: str) -> None:
    content = unary(code, dtype)
    from_tflite(content)
    message = f"{code}: what TFLM computes for {operands} is not computed here"
    check_refused(content, message, UnsupportedOperatorError, semantics="tflm")


@pytest.mark.parametrize("code", ["QUANTIZE", "DEQUANTIZE"])
def test_several_scales_of_one_tensor_are_refused(code: str) -> None:
    scales = Quantization(np.array([0.1, 0.2], np.float32), np.zeros(2, np.int64), 1)
    ends: list[Output] = [((3, 2), "int8", scales), ((3, 2), "float32", None)]
    data, result = ends if code == "DEQUANTIZE" else ends[::-1]
    content = one(code, Operand(data), gives=result).model()
    from_tflite(content)
    reason = r"takes the first scale of tensor \d '[xy]"
    check_refused(content, reason, UnsupportedOperatorError, semantics="tflm")


def test_types_scales_and_states_are_those_of_the_file() -> None:
    content = one("ARG_MAX", x(3, 2), 1, gives="int32", output_type="int64").model()
    assert computed(content, [np.zeros((3, 2), np.int8)], "litert")[0].dtype == np.int64
    check_refused(content, "gives int64, tensor 2 'y3' is int32", semantics="tflm")
    data = np.ones((1, 1, 2), np.int8)
    found, wanted = (computed(ring(), [data], semantics)[0] for semantics in ("tflm", "litert"))
    np.testing.assert_array_equal(found, wanted)
    content = one("RELU", x(4, encoding=None)).model()
    check_refused(content, "'x1' has no scale", UnsupportedOperatorError, semantics="tflm")


@pytest.mark.parametrize("read", [from_tflite, read_model])
def test_other_semantics_are_an_error(read: Any) -> None:
    with pytest.raises(QnnError, match="semantics must be one of litert, tflm, got 'mxnet'"):
        read(digits.model("int8"), semantics="mxnet")


def test_a_model_of_float32_alone_is_imported_like_any_other_with_one_note() -> None:
    sheet = Sheet(seed=7)
    data = given(sheet.rng.normal(size=(2, 3, 4)), "float32")
    for places in ([[0, 1, 2], [1, 2, 3]], [[0, 1], [1, 2]], [[[1]], [[0]]]):
        sheet.add("GATHER_ND", data, places)
    rows, weights = (sheet.rng.integers(-4, 5, (count, 6)) for count in (2, 3))
    sheet.add("FULLY_CONNECTED", given(rows, "float32"), fixed(weights, "float32"), None)
    with pytest.warns(NotQuantizedWarning, match="no tensor of this model is quantized") as caught:
        from_tflite(sheet.model())
    assert len(caught) == 1
    for result, wanted in sheet.outputs():
        np.testing.assert_array_equal(result, wanted)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("dtype", ["int8", "float16", "int32"])
def test_other_models_have_no_such_note(dtype: str) -> None:
    data = given([1, 1, 1], dtype, Q if dtype == "int8" else None)
    code, result = ("ABS", "int32") if dtype == "int32" else ("DEQUANTIZE", "float32")
    from_tflite(one(code, data, gives=result).model())
