"""Tiny variants of the networks that benchmarks make, against ONNX Runtime."""

import numpy as np
import pytest

import tvm_qnn as qnn
from benchmarks import onnx_zoo
from benchmarks.models import inputs_of
from benchmarks.onnx_zoo import networks
from tests.support.errors import fails
from tvm_qnn.oracle import onnxruntime_tensors


@pytest.mark.parametrize(("name", "style"), [("squeezenet", "s8s8"), ("mobilenet_v3", "u8s8")])
def test_every_tensor_equals_onnx_runtime(
    name: str, style: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocks = [*dict.fromkeys(networks._MOBILENET_V3)]  # a block's repetition has its code
    monkeypatch.setattr(networks, "_MOBILENET_V3", blocks)
    content = onnx_zoo.build(name, style, tiny=True)
    inputs = inputs_of(content)
    mod, params = qnn.from_onnx(content, outputs="all")
    results = qnn.build(mod, "host", params).run(*inputs)
    wanted = onnxruntime_tensors(content, inputs)
    assert len(wanted) > 40
    for key, array in wanted.items():
        np.testing.assert_array_equal(results[key], array, err_msg=key)
    *_, scores = wanted.values()
    assert np.unique(scores).size > 10


def test_another_style_is_an_error() -> None:
    fails("a model can be u8s8, s8s8", onnx_zoo.build, "squeezenet", "u4", tiny=True)


@pytest.mark.parametrize("name", ["squeezenet", "bilstm"])
def test_scores_of_floats_equal_onnx_runtime(name: str) -> None:
    content = onnx_zoo.build(name, "float32", tiny=True)
    inputs = inputs_of(content)
    mod, params = qnn.from_onnx(content)
    result = qnn.build(mod, "host", params).run(*inputs)
    *_, scores = onnxruntime_tensors(content, inputs).values()
    assert np.unique(scores).size > 10
    np.testing.assert_array_equal(result, scores)
