"""MLServer with one library."""

from __future__ import annotations

import asyncio
import socket
from dataclasses import dataclass
from typing import Any

from fastapi.exceptions import RequestValidationError
from mlserver import MLServer, ModelSettings, Settings
from mlserver.rest.responses import Response
from mlserver.settings import ModelParameters
from mlserver.utils import install_uvloop_event_loop

from qnn_ops.errors import QnnError
from tvm_qnn.serving.bodies import Bodies, most_bytes
from tvm_qnn.serving.runtime import Runtime
from tvm_qnn.serving.served import Served

_MOST_SHOWN = 3
_WRONG, _FAILED = 400, 500


@dataclass(frozen=True)
class Address:
    """Where a server listens."""

    host: str
    http_port: int
    grpc_port: int
    metrics_port: int

    def check(self) -> None:
        """Check that nobody else listens there.

        Raises:
            QnnError: if a port is taken, or the host is none of this machine.
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


def start(served: Served, name: str, address: Address, wait: float = 0.0) -> None:
    """Serve a library until a signal ends the program.

    Args:
        served: the library.
        name: the model's, in requests.
        address: where to listen.
        wait: how many seconds a request waits for others, to be run together with them; only for
            one that was made for batching.

    Raises:
        QnnError: if the address is taken.
    """
    address.check()
    settings = Settings(
        host=address.host,
        http_port=address.http_port,
        grpc_port=address.grpc_port,
        metrics_port=address.metrics_port,
        grpc_max_message_length=most_bytes(served.library),
        server_name="tvm-qnn",
        debug=False,
        parallel_workers=0,  # runs let other threads run
        model_repository_root="",  # what else lies in the current folder is not offered
        load_models_at_startup=False,
    )
    model = ModelSettings(
        name=name,
        implementation=Runtime,
        max_batch_size=served.rows,
        max_batch_time=wait,
        parameters=ModelParameters(extra={"served": served}),
    )

    async def run() -> None:
        await _Server(settings).start([model])

    install_uvloop_event_loop()
    asyncio.run(run())


class _Server(MLServer):
    """MLServer, whose errors over HTTP all are what the protocol calls an error."""

    def _create_servers(self) -> None:
        super()._create_servers()
        app = self._rest_server._app
        app.add_exception_handler(RequestValidationError, _invalid)
        app.add_exception_handler(Exception, _failed)
        app.add_middleware(Bodies, limit=self._settings.grpc_max_message_length)


async def _invalid(_request: Any, error: Any) -> Response:
    """Answer a body that is no request of the protocol."""
    reasons = [f"{_joined(each['loc'], '.')}: {each['msg']}" for each in error.errors()]
    text = "; ".join(reasons[:_MOST_SHOWN])
    return Response(status_code=_WRONG, content={"error": f"this is no request: {text}"})


async def _failed(_request: Any, error: Exception) -> Response:
    """Answer where MLServer itself fails."""
    return Response(status_code=_FAILED, content={"error": f"the server failed: {error}"})


def _joined(parts: Any, mark: str = ", ") -> str:
    return mark.join(map(str, parts))
