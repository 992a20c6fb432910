"""Measures servers on MLServer: tvm-qnn, ONNX Runtime and OpenVINO.

make test-serve                                                  # makes the environment
.venv-serve/bin/pip install onnx onnxruntime openvino
.venv-serve/bin/python -m benchmarks.bench_serving               # MobileNet V2
.venv-serve/bin/python -m benchmarks.bench_serving my_model.onnx --protocol grpc
.venv-serve/bin/python -m benchmarks.bench_serving --requests 10000 --server tvm-qnn

The server runs on one core, and the clients run on another one.
"""

import importlib.util
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import click

from benchmarks.machine import setting
from benchmarks.models import inputs_of, models
from benchmarks.report import as_table, terminal
from benchmarks.serving.clients import Rates, grpc_body, http_body, measured, over_grpc, over_http
from qnn_ops.errors import QnnError
from tvm_qnn.timing import milliseconds

OURS = "tvm-qnn"
PEERS = {"ONNX Runtime": ("onnxruntime", "OnnxRuntime"), "OpenVINO": ("openvino", "OpenVino")}
PROTOCOLS = {"http": over_http, "grpc": over_grpc}
NAME = "model"
PACKAGES = (OURS, "mlserver", "onnxruntime", "openvino")

_START = 60.0
_WARMUP = 0.1


@dataclass(frozen=True)
class Running:
    """A server that answers.

    Attributes:
        process: the process's number.
        ports: ports by protocol.
    """

    process: int
    ports: dict[str, int]

    def resident(self) -> int:
        """Return the bytes of memory that the server holds."""
        status = Path(f"/proc/{self.process}/status").read_text(encoding="ascii")
        (size,) = re.findall(r"VmRSS:\s+(\d+)", status)
        return int(size) * 1024


def _free_ports() -> list[int]:
    with socket.socket() as a, socket.socket() as b, socket.socket() as c:
        for each in (a, b, c):
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in (a, b, c)]


def _words(server: str, folder: Path, library: Path, ports: Sequence[int]) -> list[str]:
    """Return the arguments of Python that start a server."""
    if server == OURS:
        places = zip(("--port", "--grpc-port", "--metrics-port"), map(str, ports), strict=True)
        return ["tvm_qnn", "serve", str(library), "--name", NAME, *sum(places, ())]
    names = ("http_port", "grpc_port", "metrics_port")
    settings = {
        "host": "127.0.0.1",
        "debug": False,
        "parallel_workers": 0,
        "grpc_max_message_length": 1 << 30,
        **dict(zip(names, ports, strict=True)),
    }
    model = {
        "name": NAME,
        "implementation": f"benchmarks.serving.peers.{PEERS[server][1]}",
        "parameters": {"uri": "./model.onnx"},
    }
    (folder / "settings.json").write_text(json.dumps(settings), encoding="utf-8")
    (folder / "model-settings.json").write_text(json.dumps(model), encoding="utf-8")
    return ["mlserver.cli.main", "start", str(folder)]


@contextmanager
def running(server: str, folder: Path, library: Path, cores: set[int]) -> Iterator[Running]:
    """Start a server on these cores, wait until it answers, and end it."""
    ports = _free_ports()
    log = folder / "log.txt"
    with log.open("wb") as stream:
        process = subprocess.Popen(
            [sys.executable, "-m", *_words(server, folder, library, ports)],
            stdout=stream,
            stderr=subprocess.STDOUT,
            preexec_fn=lambda: os.sched_setaffinity(0, cores),
        )
    try:
        end = time.monotonic() + _START
        while not _is_ready(ports[0]):
            if process.poll() is not None or time.monotonic() > end:
                raise QnnError(f"{server} does not start: {log.read_text('utf-8')[-2000:]}")
            time.sleep(0.1)
        yield Running(process.pid, dict(zip(PROTOCOLS, ports, strict=False)))
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()


def _is_ready(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/v2/models/{NAME}/ready", timeout=5):
            return True
    except (urllib.error.URLError, OSError):
        return False


def _measure(
    server: Running, protocol: str, body: bytes, clients: int, seconds: float, requests: int | None
) -> tuple[Rates, int]:
    """Return a server's rates, and by how many bytes its memory grew meanwhile."""

    def ask(share: float) -> Rates:
        limits = (
            {"seconds": share * seconds}
            if requests is None
            else {"requests": max(1, int(share * requests))}
        )
        port = server.ports[protocol]
        return measured(PROTOCOLS[protocol], port, NAME, body, clients, **limits)

    ask(_WARMUP)
    before = server.resident()
    return ask(1), server.resident() - before


@click.command()
@click.argument("model", default="onnx/mobilenet_v2:u8s8")
@click.option("--clients", default=8, show_default=True, type=click.IntRange(min=1))
@click.option("--seconds", default=5.0, show_default=True, type=click.FloatRange(min=0.1))
@click.option("--requests", type=click.IntRange(min=10), help="So many, instead of --seconds.")
@click.option("--server", "servers", multiple=True, type=click.Choice([OURS, *PEERS]))
@click.option("--protocol", "protocols", multiple=True, type=click.Choice([*PROTOCOLS]))
def main(
    model: str,
    clients: int,
    seconds: float,
    requests: int | None,
    servers: tuple[str, ...],
    protocols: tuple[str, ...],
) -> None:
    """Serve MODEL, an .onnx file or a network of the zoo, and count the answers."""
    import tvm_qnn
    from tvm_qnn.library.library import load

    ((name, content),) = models([model])
    *others, last = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, set(others[:1] or [last]))
    found = [each for each in PEERS if importlib.util.find_spec(PEERS[each][0])]
    rows = []
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "model.onnx").write_bytes(content)
        mod, params = tvm_qnn.from_onnx(content)
        tvm_qnn.build(mod, "host", params, num_threads=1, cache=True).export(
            library := folder / "model.so"
        )
        infos = load(library, num_threads=1).inputs
        arrays = inputs_of(content)
        bodies = {"http": http_body(infos, arrays), "grpc": grpc_body(NAME, infos, arrays)}
        for server in servers or (OURS, *found):
            with running(server, folder, library, {last}) as started:
                for protocol in protocols or PROTOCOLS:
                    body = bodies[protocol]
                    rates, growth = _measure(started, protocol, body, clients, seconds, requests)
                    times = [rates.percentile(50), rates.percentile(99)]
                    rows.append(
                        [
                            server,
                            protocol,
                            f"{rates.rate:.0f}",
                            *map(milliseconds, times),
                            f"{started.resident() / 1e6:.0f}",
                            f"{growth / 1e6:+.1f}",
                        ]
                    )
    console = terminal()
    for line in setting(PACKAGES).lines():
        console.print(line)
    head = ["server", "protocol", "a second", "median ms", "99 % ms"]
    title = f"{name}: {clients} clients on one core, the server on another"
    console.print(as_table([*head, "MB", "growth"], rows, title))


if __name__ == "__main__":
    main()
