"""``tvm.rpc`` as Relay's scripts use it: uploads a library, loads it by its name, runs it there.

The device runs TVM's own server. It gets the library in TVM's own form, so this process must have
built the library that it uploads.
"""

import os
from pathlib import Path
from typing import Any

import tvm

from qnn_ops.errors import QnnError
from tvm_qnn.library.remote import Remote, remote
from tvm_qnn.relay.factory import FactoryModule, exported, load_module

_SECONDS = 600.0


class RPCSession:
    """A session on a device, or with this machine itself."""

    def __init__(self, device: Remote | None) -> None:
        """Wrap a session.

        Args:
            device: the device's session; None for this machine.
        """
        self._device = device
        self._uploaded: dict[str, Path] = {}

    def upload(self, data: str | os.PathLike[str], target: str | None = None) -> None:
        """Make a library known to the device.

        Args:
            data: the file that ``export_library`` wrote.
            target: the name for ``load_module``; default: the file's name.

        Raises:
            QnnError: if there is no such file.
        """
        path = Path(data)
        if not path.is_file():
            raise QnnError(f"upload: there is no file {path}")
        self._uploaded[target or path.name] = path

    def load_module(self, path: str) -> FactoryModule:
        """Load an uploaded library by its name.

        Raises:
            QnnError: if nothing was uploaded with this name, another process built it, or the
                device cannot load it.
        """
        if path not in self._uploaded:
            raise QnnError(f"load_module: nothing was uploaded as {path!r}")
        file = self._uploaded[path]
        if self._device is None:
            return load_module(file)
        return FactoryModule(self._device.load(exported(file)))

    def cpu(self, dev_id: int = 0) -> Any:
        """Return the device's processor, as ``lib["default"]`` takes it."""
        return tvm.cpu(dev_id)

    def close(self) -> None:
        """End the session."""
        if self._device is not None:
            self._device.close()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        raise QnnError(f"a session has no {name}: libraries run on the processor, session.cpu()")


class TrackerSession:
    """A tracker, which knows devices by their keys."""

    def __init__(self, url: str, port: int) -> None:
        """Keep the tracker's address; ``request`` connects."""
        self._address = url, port

    def request(
        self, key: str, priority: int = 1, session_timeout: float = 0, max_retry: int = 5
    ) -> RPCSession:
        """Return a session on a free device with a key; arguments as for ``tvm_qnn.remote``."""
        del priority, max_retry
        return RPCSession(remote(*self._address, key=key, timeout=session_timeout or _SECONDS))


def connect(
    url: str, port: int, key: str = "", session_timeout: float = 0, **_options: Any
) -> RPCSession:
    """Return a session on a device.

    Args:
        url: the device's name or address.
        port: the port of its server.
        key: has no effect: a server has only one device.
        session_timeout: in seconds; 0 for 600.

    Raises:
        QnnError: as ``tvm_qnn.remote`` raises it.
    """
    del key
    return RPCSession(remote(url, port, timeout=session_timeout or _SECONDS))


def connect_tracker(url: str, port: int) -> TrackerSession:
    """Return a tracker."""
    return TrackerSession(url, port)


def LocalSession() -> RPCSession:
    """Return a session with this machine, without a network."""
    return RPCSession(None)
