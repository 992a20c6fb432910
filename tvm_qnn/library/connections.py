"""Connections to devices with time limits, for devices that stop answering.

TVM's client waits for ever if a host is missing, or is switched off in the middle of a run.
"""

import os
import socket
import stat
import struct
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

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
