"""Scripts as they were written for Relay, with other import lines."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import onnx
import pytest

from frontends.mxnet.importer import parameters
from frontends.tflite.reader import read_model
from qnn_ops.arrays import Array
from tests.former import scripts
from tests.former.imports import changed
from tests.support.onnx_graphs import on_runtime
from tests.support.onnx_networks import Network, Style
from tvm_qnn import digits
from tvm_qnn.oracle import litert_tensors

MXNET = str(Path(__file__).parents[2] / "fixtures/mxnet/plain-auto")


def run_script(text: str, **given: Any) -> dict[str, Any]:
    """Run a script with its import lines changed; return its names."""
    names = dict(given)
    exec(compile(changed(text), "script", "exec"), names)
    return names


READERS = {
    "tflite": (scripts.TFLITE, "uint8"),
    "tflite int8": (scripts.TFLITE, "int8"),
    "virtual machine": (scripts.VM, "int8"),
    "rpc": (scripts.RPC, "uint8"),
    "three files": (scripts.THREE_FILES, "uint8"),
    "debugger": (scripts.DEBUGGER, "int8"),
}


@pytest.mark.usefixtures("linker")
@pytest.mark.parametrize("name", READERS)
def test_a_script_that_reads_a_tflite_model(name: str, tmp_path: Path) -> None:
    script, dtype = READERS[name]
    content = digits.model(dtype)
    (tmp_path / "net.tflite").write_bytes(content)
    info = np.iinfo(dtype)
    data = np.random.default_rng(4).integers(info.min, info.max + 1, (1, 8, 8, 1), dtype)
    found = run_script(script, MODEL=str(tmp_path / "net.tflite"), DATA=data)
    expected = litert_tensors(content, [data])[read_model(content).outputs[0]]
    np.testing.assert_array_equal(found["result"], expected)


def test_a_script_that_reads_an_mxnet_model() -> None:
    stored = np.load(f"{MXNET}.npz")

    def load_checkpoint(prefix: str, epoch: int) -> tuple[str, dict[str, Array], dict[str, Array]]:
        symbol = Path(f"{prefix}-symbol.json").read_text()
        return symbol, parameters(f"{prefix}-{epoch:04}.params"), {}

    mx = SimpleNamespace(model=SimpleNamespace(load_checkpoint=load_checkpoint))
    found = run_script(scripts.MXNET, MODEL=MXNET, DATA=stored["data"], mx=mx)
    np.testing.assert_array_equal(found["result"], stored["output0"])


def test_a_script_that_reads_an_onnx_model(tmp_path: Path) -> None:
    net = Network(Style("uint8", "int8", qdq=True, per_channel=True), (1, 3, 8, 8), 5)
    model = net.model(net.max_pool(net.conv(net.input, 8)))
    onnx.save(model, tmp_path / "net.onnx")
    data = np.random.default_rng(4).normal(0, 1, (1, 3, 8, 8)).astype(np.float32)
    found = run_script(scripts.ONNX, MODEL=str(tmp_path / "net.onnx"), DATA=data)
    (expected,) = on_runtime(model, {"x": data})
    np.testing.assert_array_equal(found["result"], expected)


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore")  # PyTorch's own, of eager quantization and TorchScript
def test_a_script_that_quantizes_in_pytorch() -> None:
    pytest.importorskip("torch", reason="torch is not installed")
    data = np.random.default_rng(4).normal(0, 1, (1, 3, 9, 9)).astype(np.float32)
    found = run_script(scripts.PYTORCH, DATA=data)
    np.testing.assert_allclose(found["result"], found["expected"], atol=1e-6)


def test_a_script_that_writes_quantized_calls_by_hand() -> None:
    data = np.random.default_rng(4).normal(0, 8, (1, 3, 4, 4)).astype(np.float32)
    found = run_script(scripts.BY_HAND, DATA=data)
    steps = np.clip(np.round(data / 0.25) + 5, 0, 255).astype(np.int32) - 5
    padded = np.pad(steps, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (2, 2), axis=(2, 3))
    sums = np.einsum("nchwij,ocij->nohw", windows, found["weights"].astype(np.int32))
    sums += np.array([100, -100]).reshape(1, 2, 1, 1)
    expected = np.clip(np.floor(sums / 16 + 0.5), 0, 127) * 2.0
    np.testing.assert_array_equal(found["result"], expected)
