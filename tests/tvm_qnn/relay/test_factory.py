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
from tvm_qnn.relay.factory import load_module
from tvm_qnn.relay.graph_executor import GraphModule


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
