import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest

from benchmarks.serving.clients import Rates, http_body, measured, over_http
from qnn_ops.dialect.tensor_info import TensorInfo
from qnn_ops.errors import QnnError

X = TensorInfo("x", (1, 2), "int8")
BODY = http_body([X], [np.array([[-3, 4]], np.int8)])


def test_rates() -> None:
    rates = Rates((0.1, 0.3, 0.2), 0.5)
    assert rates.rate == pytest.approx(6)
    assert rates.percentile(50) == 0.2
    assert rates.percentile(100) == 0.3


def test_a_body_is_a_request_of_the_protocol() -> None:
    tensor = {"name": "x", "datatype": "INT8", "shape": [1, 2], "data": [-3, 4]}
    assert json.loads(BODY) == {"inputs": [tensor]}


@contextmanager
def answering(status: str) -> Iterator[tuple[int, list[bytes]]]:
    """Yield the port of a server that answers so, and the bodies that it gets."""
    bodies: list[bytes] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while head := (await reader.readline()).decode():
            size = 0
            while line := (await reader.readline()).decode().strip():
                if line.startswith("Content-Length"):
                    size = int(line.split()[1])
            assert head.startswith("POST /v2/models/m/infer ")
            bodies.append(await reader.readexactly(size))
            writer.write(f"HTTP/1.1 {status}\r\ncontent-length: 2\r\n\r\n{{}}".encode())

    loop = asyncio.new_event_loop()
    server = loop.run_until_complete(asyncio.start_server(answer, "127.0.0.1", 0))
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        yield server.sockets[0].getsockname()[1], bodies
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)


def test_clients_make_so_many_requests() -> None:
    with answering("200 OK") as (port, bodies):
        rates = measured(over_http, port, "m", BODY, 3, requests=20)
    assert (len(rates.seconds), bodies) == (20, [BODY] * 20)
    assert max(rates.seconds) <= rates.elapsed


def test_clients_end_in_time() -> None:
    with answering("200 OK") as (port, bodies):
        rates = measured(over_http, port, "m", BODY, 2, seconds=0.1)
    assert len(rates.seconds) == len(bodies) > 0
    assert rates.elapsed < 5


def test_an_error_ends_it() -> None:
    with answering("500 No") as (port, _), pytest.raises(QnnError, match="the server answered"):
        measured(over_http, port, "m", BODY, 2, requests=2)
