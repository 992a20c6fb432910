import os
import signal
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from tvm import relax

import tvm_qnn
from qnn_ops.errors import QnnError
from tests.support.arm import CORTEX_A72, Core, on_cores
from tests.support.arm_models import emulated_python, needs_python
from tests.support.arrays import full_range
from tests.support.errors import fails
from tests.support.linking import needs_linker
from tests.support.modules import adder, module
from tests.support.rpc import await_key, rpc_group, rpc_process
from tests.support.tflite import library_of
from tvm_qnn import Library, digits
from tvm_qnn.library import remote as library_remote

HOST = "127.0.0.1"


@pytest.fixture(scope="module")
def library() -> Library:
    return library_of(digits.model("int8"), "host")


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """A device that is a server on this machine, to which libraries are sent as files."""
    folder = tmp_path_factory.mktemp("rpc")
    with rpc_process("tvm.exec.rpc_server", folder / "server.txt") as found:
        yield found


@needs_linker
def test_a_library_runs_and_is_timed_on_the_device(library: Library, port: int) -> None:
    (info,) = library.inputs
    rng = np.random.default_rng(0)
    with tvm_qnn.remote(HOST, port) as device:
        there = device.load(library)
        assert (there.inputs, there.outputs) == (library.inputs, library.outputs)
        for _ in range(2):
            array = full_range(rng, info.dtype, info.shape)
            np.testing.assert_array_equal(there.run(array), library.run(array))
        timing = there.benchmark(repeat=4)
        assert len(timing.seconds) == 4
        assert 0 < timing.minimum <= timing.maximum < 10
        fails(
            f"input {info.name!r} takes int8 of shape", there.run, np.zeros((1, 4, 8, 1), np.int8)
        )
        fails("repeat must be at least 1, got 0", there.benchmark, repeat=0)
    fails("this session was closed", device.load, library)
    fails("this session was closed", there.run, array)


@needs_linker
def test_several_outputs_have_names(port: int) -> None:
    ty = relax.TensorType((2, 3), "float32")
    mod = module({"x": ty, "y": ty}, lambda x, y: [relax.op.add(x, y), relax.op.multiply(x, y)])
    library = tvm_qnn.build(mod, "host")
    x, y = np.random.default_rng(1).random((2, 2, 3), np.float32)
    with tvm_qnn.remote(HOST, port) as device:
        result = device.load(library).run(x, y=y)
    assert list(result) == [info.name for info in library.outputs]
    for array, expected in zip(result.values(), (x + y, x * y), strict=True):
        np.testing.assert_array_equal(array, expected)


@needs_linker
def test_what_devices_cannot_load_is_an_error(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def export(library: Library, path: Path, **options: str) -> None:
        path.write_bytes(b"no library")

    monkeypatch.setattr(Library, "export", export)
    with (
        tvm_qnn.remote(HOST, port) as device,
        pytest.raises(QnnError, match=r"the device cannot load the library: .* file too short"),
    ):
        device.load(tvm_qnn.build(adder(), "host"))


@needs_linker
def test_a_tracker_gives_a_device(library: Library, tmp_path: Path) -> None:
    pytest.importorskip("tornado", reason="TVM's tracker needs it")
    with rpc_process("tvm.exec.rpc_tracker", tmp_path / "tracker.txt") as tracker:
        options = ("--tracker", f"{HOST}:{tracker}", "--key", "board")
        with rpc_process("tvm.exec.rpc_server", tmp_path / "server.txt", *options):
            await_key(tracker, "board")
            (info,) = library.inputs
            array = np.ones(info.shape, info.dtype)
            with tvm_qnn.remote(HOST, tracker, key="board") as device:
                np.testing.assert_array_equal(device.load(library).run(array), library.run(array))
            message = (
                rf"cannot reach a device of key 'boat' .*:{tracker}: it has devices of 'board'"
            )
            fails(message, tvm_qnn.remote, HOST, tracker, key="boat")


@needs_python
@on_cores(CORTEX_A72)
def test_an_emulated_device_gives_the_same(library: Library, core: Core, tmp_path: Path) -> None:
    theirs = library_of(digits.model("int8"), target=core.target)
    (info,) = library.inputs
    array = full_range(np.random.default_rng(2), info.dtype, info.shape)
    python = emulated_python(core, tmp_path)
    # The server starts Python again for each session: by the emulator, too.
    script = tmp_path / "server.py"
    script.write_text(
        f"import runpy, sys\nsys.executable = {str(python)!r}\n"
        "runpy.run_module('tvm.exec.rpc_server', run_name='__main__')\n"
    )
    with (
        rpc_process(str(script), tmp_path / "server.txt", python=[str(python)]) as found,
        tvm_qnn.remote(HOST, found) as device,
    ):
        there = device.load(theirs)
        np.testing.assert_array_equal(there.run(array), library.run(array))
        assert there.benchmark(array, repeat=2, warmup=0).minimum > 0


def test_where_nothing_answers_there_is_an_error() -> None:
    fails(rf"cannot reach the RPC server at {HOST}:9: ", tvm_qnn.remote, HOST, 9)


X = np.ones((2, 3), np.int8)


@contextmanager
def within(seconds: float) -> Iterator[None]:
    start = time.monotonic()
    yield
    assert time.monotonic() - start < seconds


def test_a_host_that_accepts_and_says_nothing_is_an_error_in_time() -> None:
    with socket.create_server((HOST, 0)) as server:
        port = server.getsockname()[1]
        for key in (None, "board"):
            with within(8), pytest.raises(QnnError, match=f"{HOST}:{port}: no answer within 1 s"):
                tvm_qnn.remote(HOST, port, key=key, timeout=1)


@pytest.mark.parametrize("key", [None, "board"])
def test_a_port_where_nobody_listens_is_an_error_at_once(key: str | None) -> None:
    with within(8), pytest.raises(QnnError, match=f"cannot reach .* at {HOST}:9: "):
        tvm_qnn.remote(HOST, 9, key=key)


def test_connections_are_known_by_their_ends() -> None:
    with socket.create_server((HOST, 0)) as server:
        before = {*library_remote._sockets()}
        port = server.getsockname()[1]
        with socket.create_connection((HOST, port)) as first, server.accept()[0] as second:
            ends = first.getsockname(), first.getpeername()
            found = library_remote._sockets()
            assert {*found} - before == {ends, ends[::-1]}
            found[ends].sendall(b"text")
            assert second.recv(4) == b"text"
            for handle in found.values():
                handle.close()


def test_a_system_that_does_not_tell_of_connections_has_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(library_remote, "_NUMBERS", tmp_path / "fd")
    assert library_remote._sockets() == {}
    assert library_remote.connected(HOST, 9, lambda: "session", 1) == ("session", [])


@needs_linker
def test_a_device_that_stops_is_an_error_in_time(tmp_path: Path) -> None:
    library = tvm_qnn.build(adder(), "host")
    before = len(os.listdir("/dev/fd"))
    with rpc_process("tvm.exec.rpc_server", tmp_path / "server.txt") as port:
        device = tvm_qnn.remote(HOST, port, timeout=5)
        there = device.load(library)
        np.testing.assert_array_equal(there.run(X, X), X + X)
        rpc_group(port, signal.SIGSTOP)
        with within(20), pytest.raises(QnnError, match=r"the device failed: .*SockChannel::Recv"):
            there.run(X, X)
        with within(5), pytest.raises(QnnError, match=r"the device failed: .*SockChannel::"):
            there.run(X, X)
        with within(5):
            device.close()
        rpc_group(port, signal.SIGCONT)
    assert len(os.listdir("/dev/fd")) <= before + 2


@needs_linker
def test_a_server_that_ends_is_an_error_at_once(tmp_path: Path) -> None:
    library = tvm_qnn.build(adder(), "host")
    with rpc_process("tvm.exec.rpc_server", tmp_path / "server.txt") as port:
        device = tvm_qnn.remote(HOST, port)
        there = device.load(library)
    for use in (lambda: there.run(X, X), lambda: device.load(library)):
        with within(8), pytest.raises(QnnError, match=r"the device (failed|.*SockChannel)"):
            use()
    with within(5):
        device.close()
