"""A server in a process of its own, and its clients."""

import importlib
import json
import re
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


def free_ports() -> list[int]:
    """Return three ports of this machine that nobody listens on."""
    with socket.socket() as a, socket.socket() as b, socket.socket() as c:
        for each in (a, b, c):
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in (a, b, c)]


@dataclass
class Server:
    """A server, clients of it, and the lines that it prints."""

    process: subprocess.Popen[str]
    name: str
    ports: list[int] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)

    def client(self, kind: str) -> Any:
        module = importlib.import_module(f"tritonclient.{kind}")
        return module.InferenceServerClient(f"127.0.0.1:{self.ports[kind == 'grpc']}")

    def ask(self, kind: str, array: Any, name: str = "", output: Any = None, **more: Any) -> Any:
        """Send an array in a request of its own."""
        module = importlib.import_module(f"tritonclient.{kind}")
        from tritonclient.utils import np_to_triton_dtype

        client = self.client(kind)
        try:
            datatype = np_to_triton_dtype(array.dtype)
            name = name or _inputs(client, kind, self.name)[0]
            given = module.InferInput(name, array.shape, datatype)
            is_json = {"binary_data": False} if kind == "http" else {}
            given.set_data_from_numpy(array, **is_json)
            if output is not None:
                more["outputs"] = [
                    module.InferRequestedOutput(
                        output["name"], class_count=output["top"], **is_json
                    )
                ]
            return client.infer(self.name, [given], **more)
        finally:
            client.close()

    def post(self, body: bytes, path: str = "infer", **headers: str) -> tuple[int, Any]:
        """Send a body as it is; return status and answer."""
        url = f"http://127.0.0.1:{self.ports[0]}/v2/models/{self.name}/{path}"
        request = urllib.request.Request(url, body, headers, method="POST")
        try:
            with urllib.request.urlopen(request, timeout=20) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read())

    def metrics(self) -> str:
        url = f"http://127.0.0.1:{self.ports[2]}/metrics"
        with urllib.request.urlopen(url, timeout=20) as answer:
            return str(answer.read().decode())

    def resident(self) -> int:
        """Return the memory of the process in KiB."""
        status = Path(f"/proc/{self.process.pid}/status").read_text(encoding="ascii")
        (size,) = re.findall(r"VmRSS:\s+(\d+)", status)
        return int(size)


def _inputs(client: Any, kind: str, model: str) -> list[str]:
    options = {"as_json": True} if kind == "grpc" else {}
    return [each["name"] for each in client.get_model_metadata(model, **options)["inputs"]]


@contextmanager
def started(name: str, ports: list[int], *words: str) -> Iterator[Server]:
    """Run a module of Python's that serves a model of this name, and wait until it does."""
    process = subprocess.Popen(
        [sys.executable, "-m", *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    server = Server(process, name, ports)
    # What it prints is read all the time, or it would wait for that.
    assert process.stdout is not None
    reader = threading.Thread(target=lambda out=process.stdout: server.lines.extend(out))
    reader.start()
    try:
        client = server.client("http")
        for _ in range(300):
            try:
                if client.is_model_ready(name):
                    break
            except OSError:
                pass
            assert process.poll() is None, "".join(server.lines)
            time.sleep(0.1)
        client.close()
        yield server
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
        reader.join(20)


def of_command(name: str, path: Path, *options: str) -> Any:
    """Run `tvm-qnn serve` on a file."""
    ports = free_ports()
    http, grpc, metrics = map(str, ports)
    places = ["--port", http, "--grpc-port", grpc, "--metrics-port", metrics]
    return started(name, ports, "tvm_qnn", "serve", str(path), "--name", name, *places, *options)
