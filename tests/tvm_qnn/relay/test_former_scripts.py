"""Scripts as they were written for Relay, with other import lines.

What TVM's tutorials "Deploy a Framework-prequantized Model with TVM - Part 3 (TFLite)" and "Compile
TFLite Models" called, in their order, on a network of this project's own.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tflite

from frontends.tflite.reader import read_model
from tvm_qnn import relay
from tvm_qnn.oracle import litert_tensors
from tvm_qnn.relay import graph_executor, tvm
from tvm_qnn.zoo import build as zoo

Array = np.ndarray[Any, Any]


@pytest.fixture(scope="module")
def content() -> bytes:
    return zoo("mobilenet_v2", "uint8", tiny=True)


@pytest.fixture(scope="module")
def data(content: bytes) -> Array:
    graph = read_model(content)
    shape = graph.tensors[graph.inputs[0]].shape
    return np.random.default_rng(3).integers(0, 256, shape, np.uint8)


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


def test_compile_a_tflite_model(
    content: bytes, data: Array, expected: Array, tmp_path: Path
) -> None:
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
