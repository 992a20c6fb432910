"""Concurrent clients, each of which sends a server one request after another.

They send the same bytes again and again, and read only the status: so the server is measured, and
not its clients.
"""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from qnn_ops.dialect.tensor_info import TensorInfo
from qnn_ops.errors import QnnError
from tvm_qnn.serving.tensors import datatype_of

Array = np.ndarray[Any, Any]
Ask = Callable[[], Awaitable[None]]
Connect = Callable[[int, str, bytes], Awaitable[tuple[Ask, Callable[[], Awaitable[None]]]]]

_HOST = "127.0.0.1"
_SERVICE = "/inference.GRPCInferenceService/ModelInfer"
_MOST = 1 << 30


@dataclass(frozen=True)
class Rates:
    """The rates at which a server answered.

    Attributes:
        seconds: the seconds of each request, from sending it to the end of its answer.
        elapsed: the seconds from the first request's start to the last one's end.
    """

    seconds: tuple[float, ...]
    elapsed: float

    @property
    def rate(self) -> float:
        """Requests a second."""
        return len(self.seconds) / self.elapsed

    def percentile(self, percent: float) -> float:
        """Return the seconds that ``percent`` percent of the requests did not exceed."""
        return float(np.percentile(self.seconds, percent))


def http_body(infos: Sequence[TensorInfo], arrays: Sequence[Array]) -> bytes:
    """Return a request for HTTP, in JSON."""
    inputs = [
        {
            "name": info.name,
            "datatype": datatype_of(info.dtype),
            "shape": array.shape,
            "data": array.ravel().tolist(),
        }
        for info, array in zip(infos, arrays, strict=True)
    ]
    return json.dumps({"inputs": inputs}).encode()


def grpc_body(name: str, infos: Sequence[TensorInfo], arrays: Sequence[Array]) -> bytes:
    """Return a request for gRPC, whose tensors are bytes."""
    from tritonclient.grpc.service_pb2 import ModelInferRequest

    request = ModelInferRequest(model_name=name)
    for info, array in zip(infos, arrays, strict=True):
        datatype = datatype_of(info.dtype)
        request.inputs.add(name=info.name, datatype=datatype, shape=array.shape)
        request.raw_input_contents.append(array.tobytes())
    body: bytes = request.SerializeToString()
    return body


async def over_http(port: int, name: str, body: bytes) -> tuple[Ask, Callable[[], Awaitable[None]]]:
    """Connect over HTTP; return a function that asks once, and one that closes the connection."""
    reader, writer = await asyncio.open_connection(_HOST, port)
    head = (
        f"POST /v2/models/{name}/infer HTTP/1.1\r\nHost: {_HOST}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    request = head.encode() + body

    async def ask() -> None:
        writer.write(request)
        await writer.drain()
        status, *lines = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        fields = dict(line.lower().split(": ", 1) for line in lines if line)
        answer = await reader.readexactly(int(fields["content-length"]))
        if status.split()[1] != "200":
            raise QnnError(f"the server answered {status}: {answer[:200]!r}")

    async def close() -> None:
        writer.close()
        await writer.wait_closed()

    return ask, close


async def over_grpc(port: int, name: str, body: bytes) -> tuple[Ask, Callable[[], Awaitable[None]]]:
    """Connect over gRPC; return the same functions as ``over_http``."""
    import grpc

    del name  # the body has it
    options = [("grpc.max_send_message_length", _MOST), ("grpc.max_receive_message_length", _MOST)]
    # Each client has a connection of its own.
    options.append(("grpc.use_local_subchannel_pool", 1))
    channel = grpc.aio.insecure_channel(f"{_HOST}:{port}", options)
    call = channel.unary_unary(_SERVICE)

    async def ask() -> None:
        await call(body)

    return ask, channel.close


def measured(
    connect: Connect,
    port: int,
    name: str,
    body: bytes,
    clients: int,
    *,
    seconds: float = float("inf"),
    requests: int | None = None,
) -> Rates:
    """Ask a server until a time has passed, or until ``requests`` requests are answered.

    Args:
        connect: ``over_http`` or ``over_grpc``.
        port: the server's port.
        name: the model's name.
        body: the body of each request.
        clients: number of concurrent clients; each waits for its answer before it asks again.
        seconds: no request begins later.
        requests: the most requests.

    Raises:
        QnnError: an answer is an error.
    """
    left = iter(range(requests)) if requests is not None else iter(int, 1)
    found: list[float] = []

    async def client(end: float) -> None:
        ask, close = await connect(port, name, body)
        try:
            while (start := time.perf_counter()) < end and next(left, None) is not None:
                await ask()
                found.append(time.perf_counter() - start)
        finally:
            await close()

    async def all_of_them() -> float:
        start = time.perf_counter()
        await asyncio.gather(*(client(start + seconds) for _ in range(clients)))
        return time.perf_counter() - start

    elapsed = asyncio.run(all_of_them())
    return Rates(tuple(found), elapsed)
