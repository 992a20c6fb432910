"""Clients that ask a server one request after another, at the same time as others.

They send the same bytes again and again and look at the status alone: what is measured is the
server.
"""

from __future__ import annotations

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
    """How a server answered.

    Attributes:
        seconds: of each request, from sending it to the end of its answer.
        elapsed: from the first one's start to the last one's end.
    """

    seconds: tuple[float, ...]
    elapsed: float

    @property
    def rate(self) -> float:
        """Requests a second."""
        return len(self.seconds) / self.elapsed

    def percentile(self, percent: float) -> float:
        """Return the seconds that so many percent of the requests did not exceed."""
        return float(np.percentile(self.seconds, percent))


def http_body(infos: Sequence[TensorInfo], arrays: Sequence[Array]) -> bytes:
    """Write a request for HTTP, in JSON."""
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
    """Write a request for gRPC, whose tensors are bytes."""
    from tritonclient.grpc.service_pb2 import ModelInferRequest

    request = ModelInferRequest(model_name=name)
    for info, array in zip(infos, arrays, strict=True):
        datatype = datatype_of(info.dtype)
        request.inputs.add(name=info.name, datatype=datatype, shape=array.shape)
        request.raw_input_contents.append(array.tobytes())
    body: bytes = request.SerializeToString()
    return body


async def over_http(port: int, name: str, body: bytes) -> tuple[Ask, Callable[[], Awaitable[None]]]:
    """Connect over HTTP; return what asks once, and what ends the connection."""
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
    """Connect over gRPC; return as ``over_http`` does."""
    import grpc

    del name  # is in the body
    options = [("grpc.max_send_message_length", _MOST), ("grpc.max_receive_message_length", _MOST)]
    # A connection of its own for each client.
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
    """Ask a server until a time has passed, or so many requests are answered.

    Args:
        connect: ``over_http`` or ``over_grpc``.
        port: of the server.
        name: of the model.
        body: of each request.
        clients: how many ask at the same time; each waits for its answer before it asks again.
        seconds: no request begins later.
        requests: no more are made.

    Raises:
        QnnError: if an answer is an error.
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
