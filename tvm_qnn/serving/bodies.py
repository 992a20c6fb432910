"""Reads the bodies of HTTP requests, up to the size that the model's inputs need."""

import base64
import json
import math
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import parse_qs

from qnn_ops.dialect.tensor_info import TensorInfo
from tvm_qnn.library.library import Library
from tvm_qnn.serving.pictures import takes_pictures
from tvm_qnn.serving.tensors import TEXT

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Message, Receive, Send], Awaitable[None]]

# The bytes of a refused body that are read and dropped. A client that still sends may not read the
# answer.
_DROPPED = 64 << 20

# Bytes of text beside the numbers of a request or answer, and bytes of a number: no more is needed.
_ENVELOPE, _NUMBER = 1 << 20, 32
_PICTURE = 32 << 20  # bytes of a request to a model that takes pictures
_MOST = (1 << 31) - 1  # gRPC keeps the size in an int

_TYPE = (b"content-type", b"application/json")

_REFUSED_HEADERS = {
    b"content-encoding": (415, "the body is compressed, which this server does not take"),
    b"inference-header-content-length": (
        400,
        "binary tensors are taken over gRPC only: over HTTP, send them as JSON (with tritonclient, "
        "binary_data=False)",
    ),
}


def most_bytes(library: Library) -> int:
    """Return the bytes of the largest request or answer of a library."""
    numbers = max(map(_count, (library.inputs, library.outputs)))
    least = _PICTURE if any(map(takes_pictures, library.inputs)) else 0
    return min(max(_ENVELOPE + _NUMBER * numbers, least), _MOST)


def _count(infos: tuple[TensorInfo, ...]) -> int:
    return sum(math.prod(info.shape) for info in infos)


class Bodies:
    """Reads whole bodies for an ASGI application, and refuses bodies that are too large."""

    def __init__(self, app: App, limit: int) -> None:
        """Wrap an application.

        Args:
            app: the application, which gets each body as a whole.
            limit: the largest body in bytes.
        """
        self._app, self._limit = app, limit

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Read the body of a request, and pass it on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        parts: list[bytes] = []
        size, more = 0, True
        while more and size <= self._limit + _DROPPED:
            message = await receive()
            if message["type"] != "http.request":
                return  # the client is gone
            part, more = message.get("body", b""), message.get("more_body", False)
            size += len(part)
            if size <= self._limit:
                parts.append(part)
        if size > self._limit:
            await _refuse(send, 413, f"the body has more than {self._limit:,} bytes")
            return
        for name, _ in scope["headers"]:
            if refusal := _REFUSED_HEADERS.get(name.lower()):
                await _refuse(send, *refusal)
                return
        body, kinds = b"".join(parts), dict(scope["headers"])
        if kinds.get(_TYPE[0], b"").startswith(b"image/"):
            body = _of_picture(body, scope.get("query_string", b""))
        waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

        async def replay() -> Message:
            return waiting.pop() if waiting else await receive()

        # The content type is set to JSON, whatever the client states (curl states a form).
        kept = [(name, value) for name, value in scope["headers"] if name.lower() != _TYPE[0]]
        await self._app({**scope, "headers": [*kept, _TYPE]}, replay, send)


def _of_picture(content: bytes, query: bytes) -> bytes:
    """Return the request for a body that is a picture; ``?classification=3`` asks for classes."""
    top = parse_qs(query.decode("latin-1")).get("classification", [""])[-1]
    data = base64.b64encode(content).decode()
    request: Message = {"inputs": [{"name": "", "datatype": TEXT, "shape": [1], "data": [data]}]}
    if top:
        request["parameters"] = {"classification": int(top) if top.isdecimal() else top}
    return json.dumps(request).encode()


async def _refuse(send: Send, status: int, reason: str) -> None:
    """Answer with an error in the protocol's form."""
    body = json.dumps({"error": reason}).encode()
    headers = [_TYPE, (b"content-length", str(len(body)).encode()), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
