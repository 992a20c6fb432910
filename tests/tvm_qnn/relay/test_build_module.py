import json
import tarfile
from pathlib import Path

import numpy as np
import pytest
import tvm

from qnn_ops.errors import QnnError
from tests.support.errors import fails
from tests.support.modules import adder
from tvm_qnn import relay
from tvm_qnn.relay.build_module import load_module
from tvm_qnn.relay.graph_executor import GraphModule
from tvm_qnn.zoo import build as zoo


def test_a_function_is_a_module_and_parameters_are_constants() -> None:
    x = relay.var("x", shape=(3,), dtype="float32")
    assert relay.build(relay.Function([x], relay.nn.relu(x)), "llvm").library.inputs[0].name == "x"
    x, w = relay.var("x", (3,)), relay.var("w", (3,))
    function = relay.Function([x, w], relay.add(x, w))
    weights = np.array([1, 2, 3], np.float32)
    bound = relay.build_module.bind_params_by_name(function, {"w": weights, "unused": weights})
    assert [each.name_hint for each in bound.params] == ["x"]
    found = relay.build_module.create_executor().evaluate(bound)(weights)  # type: ignore[attr-defined]
    np.testing.assert_array_equal(found.numpy(), 2 * weights)


def test_arguments_that_are_missing_or_misspelled_are_named() -> None:
    mod, params = relay.frontend.from_tflite(zoo("mobilenet_v1", "uint8", tiny=True))
    assert params
    fails(r"constants are missing: .*params=params", relay.build, mod, "llvm")
    fails("parms", relay.build, adder(), "llvm", parms={}, error=TypeError)
    mod = adder()
    assert relay.optimize(mod, "llvm", {"w": 1}) == (mod, {"w": 1})


def test_what_a_compiled_model_has() -> None:
    lib = relay.build(adder(), "llvm", executor="graph", runtime="cpp")
    assert lib.lib is lib
    assert lib.graph_json == lib.get_graph_json()
    assert lib.params == {}
    lib = relay.build(adder(), {"cpu": "llvm"})
    assert lib.get_lib() is lib
    assert lib.get_params() == {}
    names = [info["name"] for info in json.loads(lib.get_graph_json())["inputs"]]
    assert names == ["x", "w"]
    fails("one target is needed, got 2", relay.build, adder(), {"cpu": "llvm", "cuda": "cuda"})
    lib = relay.build(adder(), "llvm")
    with pytest.raises(QnnError, match="entry 'default', not 'main'"):
        lib["main"]
    fails("not on cuda", lib["default"], tvm.cuda(0))


@pytest.mark.usefixtures("linker")
@pytest.mark.parametrize("name", ["lib.so", "lib.tar"])
def test_a_library_is_written_and_loaded(name: str, tmp_path: Path) -> None:
    relay.build(adder(), "llvm").export_library(tmp_path / name)
    assert [each.name for each in tmp_path.iterdir()] == [name]
    w = np.ones((2, 3), np.int8)
    executor = GraphModule(load_module(tmp_path / name)["default"](tvm.cpu()))
    executor.run(x=w, w=w)
    assert executor.get_output(0).numpy().tolist() == [[2] * 3] * 2


def test_an_archive_of_something_else(tmp_path: Path) -> None:
    path = tmp_path / "lib.tar"
    with tarfile.open(path, "w") as archive:
        archive.add(__file__, "other.py")
    for content in (path.read_bytes(), b"no archive"):
        path.write_bytes(content)
        fails(r"lib\.tar holds no library", load_module, path)


def test_the_source_of_what_was_built_here(tmp_path: Path, linker: None) -> None:
    lib = relay.build(adder())
    assert "def main" in lib.get_source()
    assert [each.entry_name for each in lib.imported_modules] == ["default"]
    lib.export_library(tmp_path / "net.so")
    fails(
        "a library that was loaded has its kernels as code alone",
        load_module(tmp_path / "net.so").get_source,
    )
