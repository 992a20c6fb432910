"""Connections to devices that end in time, whatever becomes of the device.

TVM's client waits for ever: for a host that is not there as for one that was switched off in the
middle of a run.
"""

from __future__ import annotations

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
"""Seconds that a host may take to answer at all."""

# A host of which nothing is heard is asked after 10 s and every 5 s then, three times; what it does
# not acknowledge in 25,000 ms is an error.
_TCP = {
    "TCP_KEEPIDLE": 10,
    "TCP_KEEPALIVE": 10,  # what macOS calls it
    "TCP_KEEPINTVL": 5,
    "TCP_KEEPCNT": 3,
    "TCP_USER_TIMEOUT": 25_000,
}

_NUMBERS = Path("/dev/fd")
"""What this process has open, by number, on systems that tell."""


def connected(
    host: str, port: int, connect: Callable[[], Any], timeout: float
) -> tuple[Any, list[socket.socket]]:
    """Return the session that ``connect`` makes, and handles of its connection.

    Windows does not tell of a connection that another library made: there are none then, and who
    waits for a device that falls silent afterwards waits as long as TVM's client does.

    Args:
        host: the name or address of the server.
        port: of the server.
        connect: makes a session of TVM's.
        timeout: seconds to wait for it, where the host is there and busy; and seconds that it may
            be silent afterwards.

    Raises:
        OSError: if the host does not answer.
        Exception: that ``connect`` raised.
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
        answers(host, port)  # a server that is busy does: its system accepts
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
    """Ask whether a host takes connections.

    Raises:
        OSError: if it does not.
    """
    socket.create_connection((host, port), PATIENCE).close()


def _sockets() -> dict[tuple[Any, Any], socket.socket]:
    """Return this process's TCP connections, as further handles, by the addresses of their ends."""
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
    """Let what waits on a connection fail in time."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _TCP.items():
        if option := getattr(socket, name, None):  # not every system has them all
            connection.setsockopt(socket.IPPROTO_TCP, option, value)
    interval = struct.pack("@ll", int(timeout), int(timeout % 1 * 1e6))
    for option in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
        connection.setsockopt(socket.SOL_SOCKET, option, interval)
