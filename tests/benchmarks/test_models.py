import numpy as np
import pytest

from benchmarks import onnx_zoo, tflite_zoo
from benchmarks.bench_peers import main
from benchmarks.models import inputs_of, models, suffix_of
from qnn_ops.errors import QnnError
from tests.support.commands import refused
from tests.support.onnx_networks import Network, Style
from tvm_qnn import digits, zoo
from tvm_qnn.compare import compare


def test_networks_of_the_zoo_come_in_one_style_or_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tflite_zoo, "build", lambda name, style: f"{name}/{style}".encode())
    assert [name for name, _ in models(["mobilenet_v1"])] == [
        f"mobilenet_v1 {style}" for style in zoo.STYLES
    ]
    assert list(models(["resnet50:int8"])) == [("resnet50 int8", b"resnet50/int8")]


def test_networks_in_onnx_are_made_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(onnx_zoo, "build", lambda name, style: f"{name}/{style}".encode())
    assert list(models(["onnx/resnet50"])) == [
        (f"onnx/resnet50 {style}", f"resnet50/{style}".encode()) for style in onnx_zoo.STYLES
    ]


def test_layers_come_in_sizes() -> None:
    ((name, content),) = models(["hybrid_dense:3x16x5"])
    assert name == "hybrid_dense 3x16x5"
    (data,) = inputs_of(content)
    assert (data.shape, data.dtype) == ((3, 16), np.float32)
    rng = np.random.default_rng(1)
    assert compare(content, [rng.normal(0, 1, (3, 16)).astype(np.float32)], "llvm").differing == ()


@pytest.mark.parametrize("sizes", ["", "3x16", "3x0x5", "3xx5", "ax2x3x4"])
def test_layers_of_no_sizes(sizes: str) -> None:
    with pytest.raises(QnnError, match="needs rows, inputs and units, as hybrid_dense:16x768x768"):
        list(models([f"hybrid_dense:{sizes}"]))


def test_what_is_neither_file_nor_network_is_an_error() -> None:
    with pytest.raises(QnnError, match="lenet is neither a file nor a network of the zoo"):
        models(["lenet"])
    assert "neither a file" in refused(main, ["lenet"])


def test_inputs_fit_the_model() -> None:
    (array,) = inputs_of(digits.model("int8"))
    assert (array.shape, array.dtype) == ((1, 8, 8, 1), np.int8)
    assert len(np.unique(array)) > 32
    assert suffix_of(digits.model("int8")) == ".tflite"


def test_inputs_fit_a_model_in_onnx() -> None:
    net = Network(Style("int8", "int8", per_channel=True, qdq=True), (1, 3, 6, 6), 0)
    content = net.model(net.conv(net.input, 4)).SerializeToString()
    (array,) = inputs_of(content)
    assert (array.shape, array.dtype) == ((1, 3, 6, 6), np.float32)
    assert suffix_of(content) == ".onnx"
