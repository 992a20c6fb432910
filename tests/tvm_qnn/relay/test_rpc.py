from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.errors import fails
from tests.support.linking import needs_linker
from tests.support.rpc import rpc_process
from tvm_qnn import relay
from tvm_qnn.relay import tvm
from tvm_qnn.relay.factory import FactoryModule

HOST = "127.0.0.1"
DATA = np.arange(3, dtype=np.float32)


def doubling() -> FactoryModule:
    x = relay.var("x", (3,))
    return relay.build(relay.Function([x], relay.add(x, x)))


def run_there(remote: Any, lib: FactoryModule, path: Path) -> None:
    """Do what TVM's tutorials do on a device."""
    lib.export_library(path)
    remote.upload(path)
    module = tvm.contrib.graph_executor.GraphModule(
        remote.load_module(path.name)["default"](remote.cpu(0))
    )
    module.set_input("x", DATA)
    module.run()
    np.testing.assert_array_equal(module.get_output(0).numpy(), 2 * DATA)
    measured = module.module.time_evaluator("run", remote.cpu(), number=2, repeat=3)()
    assert len(measured.results) == 3


@needs_linker
@pytest.mark.parametrize("ending", [".so", ".tar"])
def test_a_session_without_a_network(tmp_path: Path, ending: str) -> None:
    remote = tvm.rpc.LocalSession()
    run_there(remote, doubling(), tmp_path / f"net{ending}")
    remote.close()


@needs_linker
def test_a_library_runs_on_a_device(tmp_path: Path) -> None:
    with rpc_process("tvm.exec.rpc_server", tmp_path / "server.txt") as port:
        remote = tvm.rpc.connect(HOST, port)
        lib = doubling()
        run_there(remote, lib, tmp_path / "net.so")
        there = remote.load_module("net.so")
        fails(
            "a library on a device is not written again",
            there.export_library,
            tmp_path / "again.so",
        )
        del lib, there
        fails("takes what this process built", remote.load_module, "net.so")
        remote.close()


@needs_linker
def test_a_tracker_gives_a_device(tmp_path: Path) -> None:
    with rpc_process("tvm.exec.rpc_tracker", tmp_path / "tracker.txt") as port:
        options = (f"--tracker={HOST}:{port}", "--key=board")
        with rpc_process("tvm.exec.rpc_server", tmp_path / "server.txt", *options):
            remote = tvm.rpc.connect_tracker(HOST, port).request("board", session_timeout=60)
            run_there(remote, doubling(), tmp_path / "net.so")
            remote.close()


def test_what_is_not_there_is_named(tmp_path: Path) -> None:
    remote = tvm.rpc.LocalSession()
    fails("upload: there is no file", remote.upload, tmp_path / "none.so")
    fails(r"nothing was uploaded as 'none\.so'", remote.load_module, "none.so")
    fails(r"no cl: libraries run on the processor, session\.cpu", getattr, remote, "cl")
