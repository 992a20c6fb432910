import os
import signal
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

import tvm_qnn
from qnn_ops.errors import QnnError
from tests.support.linking import needs_linker
from tests.support.modules import adder
from tests.support.rpc import rpc_group, rpc_process
from tvm_qnn.library import connections

HOST = "127.0.0.1"
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
        before = {*connections._sockets()}
        port = server.getsockname()[1]
        with socket.create_connection((HOST, port)) as first, server.accept()[0] as second:
            ends = first.getsockname(), first.getpeername()
            found = connections._sockets()
            assert {*found} - before == {ends, ends[::-1]}
            found[ends].sendall(b"text")
            assert second.recv(4) == b"text"
            for handle in found.values():
                handle.close()


def test_a_system_that_does_not_tell_of_connections_has_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "_NUMBERS", tmp_path / "fd")
    assert connections._sockets() == {}
    assert connections.connected(HOST, 9, lambda: "session", 1) == ("session", [])


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
