import asyncio
import json
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from qnn_ops.dialect.tensor_info import TensorInfo
from tvm_qnn.serving import bodies
from tvm_qnn.serving.bodies import Bodies, most_bytes

LIMIT = 10


def answered(
    parts: Sequence[bytes], headers: dict[bytes, bytes] | None = None, query: bytes = b""
) -> Any:
    """Send a body in parts; return status and body of the answer, or None."""
    sent: list[Any] = []
    waiting = [
        *({"type": "http.request", "body": part, "more_body": True} for part in parts),
        {"type": "http.request", "more_body": False},
    ]

    async def app(scope: Any, receive: Any, send: Any) -> None:
        assert dict(scope["headers"])[b"content-type"] == b"application/json"
        message = await receive()
        assert not message["more_body"]
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": message["body"]})

    async def receive() -> Any:
        return waiting.pop(0)

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "http", "headers": [*(headers or {}).items()], "query_string": query}
    asyncio.run(Bodies(app, LIMIT)(scope, receive, send))
    return sent and (sent[0]["status"], sent[1]["body"])


def test_a_body_comes_whole_or_is_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    assert answered([b"12345", b"67890"]) == (200, b"1234567890")
    assert answered([]) == (200, b"")
    assert answered([b"{}"], {b"Content-Type": b"text/plain"}) == (200, b"{}")
    status, body = answered([b"12345", b"67890", b"1"])
    assert status == 413
    assert json.loads(body) == {"error": "the body has more than 10 bytes"}
    monkeypatch.setattr(bodies, "_DROPPED", 20)
    parts = [b"12345"] * 7  # the last of which brings it above
    assert answered(parts)[0] == 413


def test_a_picture_is_a_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.tvm_qnn.serving.test_bodies.LIMIT", 100)
    headers = {b"content-type": b"image/jpeg"}
    tensor = {"name": "", "datatype": "BYTES", "shape": [1], "data": ["/9j/"]}
    for query, parameters in [
        (b"", None),
        (b"classification=3", {"classification": 3}),
        (b"classification=x", {"classification": "x"}),
    ]:
        status, body = answered([b"\xff\xd8\xff"], headers, query)
        expected = {"inputs": [tensor]} | ({} if parameters is None else {"parameters": parameters})
        assert (status, json.loads(body)) == (200, expected)


@pytest.mark.parametrize(
    ("header", "status", "reason"),
    [
        (b"content-encoding", 415, "compressed"),
        (b"Inference-Header-Content-Length", 400, "binary_data=False"),
    ],
)
def test_bodies_of_other_kinds_are_refused(header: bytes, status: int, reason: str) -> None:
    found, body = answered([b"{}"], {header: b"gzip"})
    assert found == status
    assert reason in json.loads(body)["error"]


@pytest.mark.parametrize(("count", "size"), [(100, (1 << 20) + 3200), (100_000_000, (1 << 31) - 1)])
def test_bodies_are_no_larger_than_grpc_can_take(count: int, size: int) -> None:
    many = (TensorInfo("x", (count,), "int8"),)
    library: Any = SimpleNamespace(inputs=many, outputs=many)
    assert most_bytes(library) == size
