"""A network in two formats: a TFLite model, and its conversion by tf2onnx."""

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import tvm_qnn as qnn
from tvm_qnn import zoo
from tvm_qnn.oracle import onnxruntime_tensors

NEEDED = ("onnx", "onnxruntime", "tensorflow", "tf2onnx")
MISSING = [name for name in NEEDED if find_spec(name) is None]


@pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}")
@pytest.mark.filterwarnings("ignore:computed in float32")
def test_both_formats_have_one_class_and_onnx_runtimes_integers(tmp_path: Path) -> None:
    tflite, onnx = tmp_path / "network.tflite", tmp_path / "network.onnx"
    tflite.write_bytes(zoo.build("mobilenet_v1", "int8_per_axis", tiny=True))
    command = [sys.executable, "-m", "tf2onnx.convert", "--opset", "17", "--tflite", str(tflite)]
    subprocess.run([*command, "--output", str(onnx)], check=True, capture_output=True)
    mod, params = qnn.from_tflite(str(tflite))
    library = qnn.build(mod, "host", params)
    (info,) = library.inputs
    image = np.random.default_rng(0).integers(-128, 128, info.shape).astype(info.dtype)
    wanted = onnxruntime_tensors(onnx, [image])
    mod, params = qnn.from_onnx(onnx, outputs="all")
    found = qnn.build(mod, "host", params).run(image)
    assert isinstance(found, dict)
    assert len(found) == len(wanted) > 28
    for name, array in found.items():
        np.testing.assert_array_equal(array, wanted[name])
    scores = library.run(image)
    assert np.argmax(scores) == np.argmax([*found.values()][-1])
