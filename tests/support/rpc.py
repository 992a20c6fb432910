"""TVM's stock RPC server and tracker, as processes of their own."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

_TIME_LIMIT = 120.0  # seconds
_GROUPS: dict[int, int] = {}  # of processes, by port
_BOUND = re.compile(r"bind to .*?[:\s](\d+)\s*$", re.MULTILINE)


@contextmanager
def rpc_process(
    program: str,
    log: Path,
    *options: str,
    python: Sequence[str] = (sys.executable, "-m"),
    environment: Mapping[str, str] | None = None,
) -> Iterator[int]:
    """Run a program of TVM's until the end of the context; gives its port.

    Args:
        program: "tvm.exec.rpc_server" or "tvm.exec.rpc_tracker".
        log: a file for its output.
        *options: further options, after host and ports.
        python: the command that runs it.
        environment: variables in addition to this process's own.
    """
    ports = ("--host", "127.0.0.1", "--port", "9300", "--port-end", "9399")
    with log.open("w") as stream:
        process = subprocess.Popen(
            [*python, program, *ports, *options],
            stdout=stream,
            stderr=stream,
            env={**os.environ, **(environment or {})},
            start_new_session=True,  # its children die with it
        )
    try:
        port = _port(process, log)
        _GROUPS[port] = process.pid
        yield port
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def rpc_group(port: int, number: signal.Signals) -> None:
    """Send a signal to the server of a port and all its children."""
    os.killpg(_GROUPS[port], number)


def await_key(tracker: int, key: str) -> None:
    """Wait until a tracker has a server of a key: it registers after it is bound to its port."""
    from tvm import rpc

    connection = rpc.connect_tracker("127.0.0.1", tracker)
    end = time.monotonic() + _TIME_LIMIT
    while f"server:{key}" not in {each["key"] for each in connection.summary()["server_info"]}:
        assert time.monotonic() < end, f"no server of {key!r} comes to the tracker"
        time.sleep(0.1)


def _port(process: subprocess.Popen[bytes], log: Path) -> int:
    end = time.monotonic() + _TIME_LIMIT
    while time.monotonic() < end:
        if found := _BOUND.search(log.read_text()):
            return int(found.group(1))
        assert process.poll() is None, f"it ended: {log.read_text()}"
        time.sleep(0.1)
    raise AssertionError(f"it does not answer: {log.read_text()}")
