"""Runs libraries on another machine through TVM's own RPC.

The device runs TVM's unchanged server, ``python -m tvm.exec.rpc_server``. Nothing of this project
is on the device or in the protocol. Connections have time limits: TVM's client waits for ever if a
host is missing, or is switched off in the middle of a run.
"""

from __future__ import annotations

import gc
import itertools
import os
import socket
import stat
import struct
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import numpy as np

from qnn_ops.dialect.tensor_info import TensorInfo
from qnn_ops.errors import QnnError
from tvm_qnn.io.closing import Closing
from tvm_qnn.io.outputs import scratch
from tvm_qnn.library.arrays import Given, benchmark_arrays, input_arrays
from tvm_qnn.library.library import Library
from tvm_qnn.timing import Timing

T = TypeVar("T")

_MAIN = "main"
_CALL = "invoke_stateful"  # the machine's function that runs on the values of set_input
_NAMES = (f"tvm_qnn_{os.getpid()}_{number}.so" for number in itertools.count())


def remote(host: str, port: int, *, key: str | None = None, timeout: float = 600.0) -> Remote:
    """Connect to a device.

    A server, or all devices of a key, may be busy with other sessions: this waits for them. A host
    that does not answer is an error after 20 seconds. A host that vanishes in the middle of a run
    (switched off, cut off) is an error after some 25 seconds, and one that stays connected but
    silent after ``timeout``. If the server ends, this is an error at once.

    Args:
        host: the host of the RPC server; with ``key``, that of the tracker.
        port: its port. The defaults of TVM's programs are 9090 (server) and 9190 (tracker).
        key: the devices' name at the tracker, which assigns a free one of them.
        timeout: seconds to wait, and seconds of the whole session, after which the server ends it.

    Raises:
        QnnError: if nothing answers, the answer is not that of TVM's RPC, or no device is
            registered with the key.
    """
    # Imported late: this imports TVM's compiler.
    from tvm import rpc

    def connect() -> Any:
        if key is None:
            return rpc.connect(host, port, session_timeout=timeout)
        answers(host, port)  # TVM would try for a minute
        tracker = rpc.connect_tracker(host, port)
        # A request for an unknown key would wait for ever.
        servers = tracker.summary()["server_info"]
        known = sorted({str(server["key"]).partition(":")[2] for server in servers})
        if key not in known:
            raise ValueError(f"it has devices of {', '.join(map(repr, known)) or 'no key'}")
        return tracker.request(key, session_timeout=timeout, max_retry=1)

    what = f"a device of key {key!r} from the tracker" if key else "the RPC server"
    made = partial(connected, host, port, connect, timeout)
    return Remote(*_told(f"cannot reach {what} at {host}:{port}", made))


class Remote(Closing):
    """A session on a device; ``remote`` makes it. As a context it is closed at the end."""

    def __init__(self, session: Any, connection: Sequence[socket.socket] = ()) -> None:
        """Wrap a session of TVM's RPC.

        Args:
            session: TVM's session.
            connection: handles of its connection.
        """
        self._session: Any = session
        self._connection = connection
        self._loaded: list[RemoteLibrary] = []

    def load(self, library: Library) -> RemoteLibrary:
        """Upload a library and make it ready to run.

        Args:
            library: a library that ``tvm_qnn.build`` compiled for the device.

        Raises:
            QnnError: if it cannot be exported, the device cannot load it, or the session was
                closed.
        """
        session = self._open()
        name = next(_NAMES)
        with scratch() as folder:
            path = folder / name
            library.export(path, format="tvm")

            def load() -> Any:
                from tvm import relax

                session.upload(str(path))
                return relax.VirtualMachine(session.load_module(name), session.cpu())

            machine = _told("the device cannot load the library", load, self._connection)
        self._loaded.append(RemoteLibrary(library, session, machine, self._connection))
        return self._loaded[-1]

    def close(self) -> None:
        """End the session; the server is then free for another one."""
        for library in self._loaded:
            library._machine = library._session = None
        self._loaded.clear()
        self._session = None
        # TVM ends the connection with the last object that refers to it, and these have cycles.
        gc.collect()
        for handle in self._connection:
            handle.close()

    def __reduce__(self) -> NoReturn:
        raise QnnError("a session on a device cannot be pickled: connect in the other process, too")

    def _open(self) -> Any:
        if self._session is None:
            raise QnnError("this session was closed")
        return self._session


class RemoteLibrary:
    """A library on a device; ``Remote.load`` makes it. It works until the session is closed."""

    inputs: tuple[TensorInfo, ...]
    """Name, shape, dtype and quantization of each input, in order."""

    outputs: tuple[TensorInfo, ...]
    """Name, shape, dtype and quantization of each output, in order."""

    def __init__(
        self, library: Library, session: Any, machine: Any, connection: Sequence[socket.socket] = ()
    ) -> None:
        """Wrap a virtual machine on the device.

        Args:
            library: the library that was uploaded.
            session: the session of TVM's RPC.
            machine: TVM's machine on the device.
            connection: handles of the session's connection.
        """
        self._connection = connection
        self.signature = library.signature
        self.inputs, self.outputs = library.inputs, library.outputs
        self._session: Any = session
        self._machine: Any = machine
        self._states: list[np.ndarray] = []
        self.reset()

    def run(self, /, *arrays: Given, **named: np.ndarray) -> Any:
        """Run the model on the device once.

        Args:
            *arrays: the inputs in order, as ``Library.run`` takes them.
            **named: inputs by name.

        Returns:
            The output as an array; a model of several outputs returns a dict by name, in order.

        Raises:
            QnnError: if an input does not fit, or the device fails.
        """
        values = [*input_arrays(self.inputs, arrays, named), *self._states]
        machine = self._open()

        def run() -> list[np.ndarray]:
            self._set(values)
            machine.invoke_stateful(_MAIN)
            result = machine.get_outputs(_MAIN)
            several = isinstance(result, list | tuple) or type(result).__name__ == "Array"
            return [tensor.numpy() for tensor in (result if several else [result])]

        found = _told("the device failed", run, self._connection)
        self._states = found[len(self.outputs) :]
        if len(self.outputs) == 1:
            return found[0]
        return {info.name: array for info, array in zip(self.outputs, found, strict=False)}

    def reset(self) -> None:
        """Go back to the state before the first run."""
        self._states = [info.array() for info in self.signature.states]

    def benchmark(
        self, /, *arrays: Given, repeat: int = 20, warmup: int = 3, **named: np.ndarray
    ) -> Timing:
        """Time the model by the device's clock, without the network.

        Args:
            *arrays: inputs as ``run`` takes them; zeros if none are given at all.
            repeat: how many runs to time, at least one.
            warmup: how many runs come before these.
            **named: inputs by name.

        Raises:
            QnnError: as ``run``, or if ``repeat`` is below 1.
        """
        values = benchmark_arrays(self.inputs, arrays, named, repeat)
        values += [info.array() for info in self.signature.states]
        machine = self._open()

        def measure() -> Timing:
            self._set(values)
            for _ in range(warmup):
                machine.invoke_stateful(_MAIN)
            cpu = self._session.cpu()
            evaluate = machine.time_evaluator(_CALL, cpu, number=1, repeat=repeat)
            return Timing(tuple(evaluate(_MAIN).results))

        return _told("the device failed", measure, self._connection)

    def __reduce__(self) -> NoReturn:
        raise QnnError(
            "a library on a device cannot be pickled: pickle the one that was loaded there"
        )

    def _open(self) -> Any:
        if self._machine is None:
            raise QnnError("this session was closed")
        return self._machine

    def _set(self, values: list[np.ndarray]) -> None:
        import tvm

        device = self._session.cpu()
        tensors = [tvm.runtime.tensor(np.asarray(value, order="C"), device) for value in values]
        self._machine.set_input(_MAIN, *tensors)


def _told(what: str, action: Callable[[], T], connection: Sequence[socket.socket] = ()) -> T:
    """Return the action's result; turn its errors into one error of one line."""
    try:
        return action()
    except (RuntimeError, OSError, ValueError, AttributeError, TypeError) as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        reason = lines[-1] if lines else type(error).__name__
        if "SockChannel::" in reason:
            # Let nothing wait for this device again: neither the next call nor the session's end.
            for handle in connection:
                with suppress(OSError):
                    limit(handle, 0.01)
        raise QnnError(f"{what}: {reason}") from error


PATIENCE = 10.0
"""The seconds that a host has for its first answer."""

# The system probes a silent host after 10 s, and then every 5 s, three times. Data that the host
# does not acknowledge within 25,000 ms are an error.
_TCP = {
    "TCP_KEEPIDLE": 10,
    "TCP_KEEPALIVE": 10,  # macOS's name of it
    "TCP_KEEPINTVL": 5,
    "TCP_KEEPCNT": 3,
    "TCP_USER_TIMEOUT": 25_000,
}

_NUMBERS = Path("/dev/fd")
"""A folder with the numbers of this process's open files, on systems that have it."""


def connected(
    host: str, port: int, connect: Callable[[], Any], timeout: float
) -> tuple[Any, list[socket.socket]]:
    """Return the session that ``connect`` makes, and handles of its connection.

    Windows does not list connections that another library made. There are no handles then, and a
    caller waits for a silent device as long as TVM's client does.

    Args:
        host: the name or address of the server.
        port: the server's port.
        connect: makes a session of TVM.
        timeout: seconds to wait for the session if the host is there and busy, and seconds that the
            host may later be silent.

    Raises:
        OSError: if the host does not answer.
        Exception: whatever ``connect`` raises.
    """
    result: list[Any] = []
    failure: list[BaseException] = []

    def work() -> None:
        try:
            result.append(connect())
        except BaseException as error:
            failure.append(error)

    before = {*_sockets()}
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(min(PATIENCE, timeout))
    if thread.is_alive():
        answers(host, port)  # also true of a busy server, whose system accepts
        thread.join(max(timeout - PATIENCE, 0))
    if thread.is_alive():
        raise TimeoutError(f"no answer within {timeout:g} s")
    if failure:
        raise failure[0]
    found = [handle for ends, handle in _sockets().items() if ends not in before]
    for connection in found:
        limit(connection, timeout)
    return result[0], found


def answers(host: str, port: int) -> None:
    """Check that a host accepts connections.

    Raises:
        OSError: if it does not.
    """
    socket.create_connection((host, port), PATIENCE).close()


def _sockets() -> dict[tuple[Any, Any], socket.socket]:
    """Return new handles of this process's TCP connections, by the addresses of their ends."""
    found = {}
    for number in map(int, os.listdir(_NUMBERS) if _NUMBERS.is_dir() else ()):
        with suppress(OSError):
            if not stat.S_ISSOCK(os.fstat(number).st_mode):
                continue
            handle = socket.socket(fileno=os.dup(number))
            if handle.family in (socket.AF_INET, socket.AF_INET6):
                found[handle.getsockname(), handle.getpeername()] = handle
    return found


def limit(connection: socket.socket, timeout: float) -> None:
    """Set time limits for all calls that wait on a connection."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _TCP.items():
        if option := getattr(socket, name, None):  # systems have different options
            connection.setsockopt(socket.IPPROTO_TCP, option, value)
    interval = struct.pack("@ll", int(timeout), int(timeout % 1 * 1e6))
    for option in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
        connection.setsockopt(socket.SOL_SOCKET, option, interval)
