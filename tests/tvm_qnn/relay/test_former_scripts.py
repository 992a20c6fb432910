"""Scripts as they were written for Relay, with other import lines.

What TVM's tutorials "Deploy a Framework-prequantized Model with TVM - Part 3 (TFLite)" and "Compile
TFLite Models" called, in their order, on a network of this project's own.
"""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import onnx
import pytest
import tflite

from frontends.mxnet.importer import parameters
from frontends.tflite.quantization import Quantization
from frontends.tflite.reader import read_model
from frontends.tflite.writer import ModelWriter
from qnn_ops.arrays import Array
from tests.former import scripts
from tests.former.imports import changed
from tests.support.onnx_graphs import on_runtime
from tests.support.onnx_networks import Network, Style
from tvm_qnn import relay
from tvm_qnn.oracle import litert_tensors
from tvm_qnn.relay import graph_executor, tvm

MXNET = str(Path(__file__).parents[2] / "fixtures/mxnet/plain-auto")


@pytest.fixture(scope="module")
def content() -> bytes:
    return network("uint8")


@pytest.fixture(scope="module")
def data() -> Array:
    return np.random.default_rng(3).integers(0, 256, (1, 8, 8, 3), np.uint8)


@pytest.fixture(scope="module")
def expected(content: bytes, data: Array) -> Array:
    return litert_tensors(content, [data])[read_model(content).outputs[0]]


def test_deploy_a_prequantized_model(content: bytes, data: Array, expected: Array) -> None:
    tflite_model = tflite.Model.GetRootAsModel(content, 0)

    def run_tvm(lib: Any) -> tuple[Array, Any]:
        rt_mod = graph_executor.GraphModule(lib["default"](tvm.cpu(0)))
        rt_mod.set_input("input", data)
        rt_mod.run()
        tvm_res = rt_mod.get_output(0).numpy()
        return np.squeeze(tvm_res), rt_mod

    dtype_dict = {"input": data.dtype.name}
    shape_dict = {"input": data.shape}
    mod, params = relay.frontend.from_tflite(
        tflite_model, shape_dict=shape_dict, dtype_dict=dtype_dict
    )
    target = "llvm"
    with tvm.transform.PassContext(opt_level=3):
        lib = relay.build_module.build(mod, target=target, params=params)
    tvm_res, rt_mod = run_tvm(lib)
    assert np.array_equal(tvm_res, np.squeeze(expected))
    seconds = rt_mod.benchmark(tvm.cpu(0), number=2, repeat=3)
    assert len(seconds.results) == 3
    assert 0 < seconds.min <= seconds.mean


def test_compile_tflite_model(content: bytes, data: Array, expected: Array, tmp_path: Path) -> None:
    from tvm_qnn.relay import graph_executor as runtime

    model_file = tmp_path / "model.tflite"
    model_file.write_bytes(content)
    with open(model_file, "rb") as file:
        tflite_model_buf = file.read()
    tflite_model = tflite.Model.GetRootAsModel(tflite_model_buf, 0)
    mod, params = relay.frontend.from_tflite(
        tflite_model, shape_dict={"input": data.shape}, dtype_dict={"input": "uint8"}
    )
    target = "llvm"
    with tvm.transform.PassContext(opt_level=3):
        lib = relay.build(mod, target, params=params)
    module = runtime.GraphModule(lib["default"](tvm.cpu()))
    module.set_input("input", tvm.nd.array(data))
    module.run()
    tvm_output = module.get_output(0).numpy()
    assert np.argmax(np.squeeze(tvm_output)) == np.argmax(expected)
    assert np.array_equal(tvm_output, expected)


def test_graph_lib_and_params_are_unpacked(content: bytes, data: Array, expected: Array) -> None:
    model = tflite.Model.GetRootAsModel(content, 0)
    mod, params = relay.frontend.from_tflite(model)
    graph, lib, params = relay.build(mod, target="llvm", params=params)
    ctx = tvm.context("llvm", 0)
    module = tvm.contrib.graph_runtime.create(graph, lib, ctx)
    module.set_input(**params)
    module.run(input=data)
    assert module.get_num_outputs() == module.num_outputs == 1
    assert np.array_equal(module.get_output(0).numpy(), expected)


def test_a_library_is_exported_and_loaded(
    content: bytes, data: Array, expected: Array, tmp_path: Path, linker: None
) -> None:
    mod, params = relay.frontend.from_tflite(content)
    lib = relay.build(mod, tvm.target.Target("llvm"), params=params)
    path = tmp_path / "net.so"
    lib.export_library(str(path))
    loaded = tvm.runtime.load_module(str(path))
    module = tvm.contrib.graph_executor.GraphModule(loaded["default"](tvm.device("cpu")))
    module.set_input(0, data)
    module.run()
    out = tvm.nd.array(np.zeros_like(expected))
    module.get_output(0, out)
    assert np.array_equal(out.numpy(), expected)
    measure: Callable[[], Any] = module.module.time_evaluator("run", tvm.cpu(), number=1, repeat=4)
    assert len(measure().results) == 4


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
    content = network(dtype)
    (tmp_path / "net.tflite").write_bytes(content)
    info = np.iinfo(dtype)
    data = np.random.default_rng(4).integers(info.min, info.max + 1, (1, 8, 8, 3), dtype)
    found = run_script(script, MODEL=str(tmp_path / "net.tflite"), DATA=data)
    expected = litert_tensors(content, [data])[read_model(content).outputs[0]]
    np.testing.assert_array_equal(found["result"], expected)


def network(dtype: str) -> bytes:
    """Return a convolution and a pool."""
    writer, rng = ModelWriter(), np.random.default_rng(1)
    point = 128 if dtype == "uint8" else 0
    of_weights = Quantization.per_tensor(0.02, 120 if dtype == "uint8" else 0)
    low = 0 if dtype == "uint8" else -127
    weights = rng.integers(low, low + 255, (4, 3, 3, 3), dtype)
    bias = rng.integers(-500, 500, 4, dtype=np.int32)
    x = writer.tensor("input", (1, 8, 8, 3), dtype, Quantization.per_tensor(0.05, point))
    w = writer.tensor("weights", weights.shape, dtype, of_weights, weights)
    b = writer.tensor("bias", bias.shape, "int32", Quantization.per_tensor(0.001, 0), bias)
    y = writer.tensor("y", (1, 6, 6, 4), dtype, Quantization.per_tensor(0.2, point))
    z = writer.tensor("z", (1, 3, 3, 4), dtype, Quantization.per_tensor(0.2, point))
    writer.operator("CONV_2D", [x, w, b], [y], stride_w=1, stride_h=1, padding="VALID")
    window = {"filter_width": 2, "filter_height": 2, "stride_w": 2, "stride_h": 2}
    writer.operator("AVERAGE_POOL_2D", [y], [z], **window)
    return writer.finish([x], [z])


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
