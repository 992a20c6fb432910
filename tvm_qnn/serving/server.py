"""Runs MLServer with libraries."""

import asyncio
import gc
import socket
from collections.abc import Mapping
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from typing import Any

import mlserver.metrics.server
import mlserver.rest.server
from fastapi.exceptions import RequestValidationError
from mlserver import MLServer, ModelSettings, Settings
from mlserver.errors import MLServerError
from mlserver.rest.responses import Response
from mlserver.settings import ModelParameters
from mlserver.utils import install_uvloop_event_loop

from qnn_ops.errors import QnnError
from tvm_qnn.serving.bodies import Bodies, most_bytes
from tvm_qnn.serving.folder import Folder, Key
from tvm_qnn.serving.runtime import Runtime
from tvm_qnn.serving.served import Served

_MOST_SHOWN = 3
_WRONG, _FAILED = 400, 500
_PERIOD = 1.0  # seconds between two looks at the folder

# MLServer ends its servers itself when a signal comes. It tells uvicorn so by a method that uvicorn
# no longer calls. Each server would then raise the signal again, which makes the other one stop at
# once, with a traceback.
for _module in (mlserver.metrics.server, mlserver.rest.server):
    _module._NoSignalServer.capture_signals = nullcontext


@dataclass(frozen=True)
class Address:
    """The host and the ports of a server."""

    host: str
    http_port: int
    grpc_port: int
    metrics_port: int

    def check(self) -> None:
        """Check that no other program listens there.

        Raises:
            QnnError: if a port is taken, or the host is not this machine.
        """
        ports = (self.http_port, self.grpc_port, self.metrics_port)
        if len(set(ports)) < len(ports):
            raise QnnError("HTTP, gRPC and metrics need a port each, got " + _joined(ports))
        for port in ports:
            try:
                family, kind, *_, place = socket.getaddrinfo(
                    self.host, port, type=socket.SOCK_STREAM
                )[0]
                with socket.socket(family, kind) as trial:
                    trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                    trial.bind(place)
            except OSError as error:
                reason = error.strerror or error
                raise QnnError(f"cannot listen on {self.host}, port {port}: {reason}") from error


def start(
    models: Mapping[Key, Served], address: Address, wait: float = 0.0, folder: Folder | None = None
) -> None:
    """Serve libraries until a signal ends the program.

    Args:
        models: the libraries, by name and version.
        address: where to listen.
        wait: how many seconds a request waits for others, to run together with them; only for
            libraries that were made for batching.
        folder: the folder of the libraries; its changes are loaded while the server runs.

    Raises:
        QnnError: if the address is taken.
    """
    address.check()
    settings = Settings(
        host=address.host,
        http_port=address.http_port,
        grpc_port=address.grpc_port,
        metrics_port=address.metrics_port,
        grpc_max_message_length=max(most_bytes(served.library) for served in models.values()),
        server_name="tvm-qnn",
        debug=False,
        parallel_workers=0,  # a run does not block other threads
        model_repository_root="",  # MLServer shall not offer other files of the current folder
        load_models_at_startup=False,
    )

    async def run() -> None:
        server = _Server(settings)
        following = asyncio.create_task(server.follow(folder, wait))
        try:
            await server.start([_settings(key, models[key], wait) for key in models])
        finally:
            following.cancel()

    install_uvloop_event_loop()
    asyncio.run(run())


def _settings(key: Key, served: Served, wait: float) -> ModelSettings:
    name, version = key
    return ModelSettings(
        name=name,
        implementation=Runtime,
        max_batch_size=served.rows,
        max_batch_time=wait,
        parameters=ModelParameters(version=version or None, extra={"served": served}),
    )


class _Server(MLServer):
    """MLServer with all of its HTTP errors in the protocol's form."""

    def _create_servers(self) -> None:
        super()._create_servers()
        app = self._rest_server._app
        app.add_exception_handler(RequestValidationError, _invalid)
        app.add_exception_handler(Exception, _failed)
        app.add_middleware(Bodies, limit=self._settings.grpc_max_message_length)

    async def follow(self, folder: Folder | None, wait: float) -> None:
        """Load changes of a folder; a replaced model answers until its new version is loaded.

        Args:
            folder: the folder; None: nothing changes.
            wait: as for ``start``.
        """
        await asyncio.sleep(_PERIOD)
        _settle()
        while folder is not None:
            await asyncio.sleep(_PERIOD)
            changes = await asyncio.to_thread(folder.changes)
            for key, served in changes:
                await self._change(key, served, wait)
            if changes:
                _settle()

    async def _change(self, key: Key, served: Served | None, wait: float) -> None:
        name, version = key
        if served is not None:
            await self._model_registry.load(_settings(key, served, wait))
            return
        with suppress(MLServerError):  # a client may have unloaded it
            await self._model_registry.unload_version(name, version or None)


def _settle() -> None:
    """Collect garbage, and leave all present objects out of later collections.

    A collection would visit the hundred thousand objects of the packages. This takes a tenth of a
    second or more, in which the server answers no request.
    """
    gc.unfreeze()
    gc.collect()
    gc.freeze()


async def _invalid(_request: Any, error: Any) -> Response:
    """Answer a body that is not a request of the protocol."""
    reasons = [f"{_joined(each['loc'], '.')}: {each['msg']}" for each in error.errors()]
    text = "; ".join(reasons[:_MOST_SHOWN])
    return Response(status_code=_WRONG, content={"error": f"this is no request: {text}"})


async def _failed(_request: Any, error: Exception) -> Response:
    """Answer if MLServer itself fails."""
    return Response(status_code=_FAILED, content={"error": f"the server failed: {error}"})


def _joined(parts: Any, mark: str = ", ") -> str:
    return mark.join(map(str, parts))
