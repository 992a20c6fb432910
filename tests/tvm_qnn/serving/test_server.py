"""The server in a process of its own, and a real client.

The client and MLServer cannot be in one process: both register the protocol with protobuf.
"""

import importlib.util
import io
import json
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from benchmarks.serving.clients import grpc_body, http_body, measured, over_grpc, over_http
from frontends.tflite.quantization import Quantization
from tests.support.linking import needs_linker
from tests.support.servers import Server, free_ports, of_command, started
from tests.support.tflite import library_of
from tests.support.tflite_graphs import Subgraph, model_of
from tvm_qnn import digits
from tvm_qnn.cli.arguments import read_inputs

if importlib.util.find_spec("mlserver") is None:
    pytest.skip("mlserver is not installed: 'make test-serve'", allow_module_level=True)

from tritonclient.utils import InferenceServerException

pytestmark = [pytest.mark.serve, needs_linker]

NAMES = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
CLIENTS = 8
REQUESTS = 10_000
ROWS = 4


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the library of the digits and the names of its classes."""
    folder = tmp_path_factory.mktemp("served")
    library_of(digits.model("int8"), "host", num_threads=1).export(folder / "digits.so")
    (folder / "names.txt").write_text("\n".join(NAMES), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[Server]:
    labels = ["--labels", str(folder / "names.txt")]
    with of_command("digits", folder / "digits.so", *labels) as server:
        yield server


@pytest.fixture(scope="module")
def library(folder: Path) -> Any:
    from tvm_qnn.library.library import load

    return load(folder / "digits.so", num_threads=1)


@pytest.fixture(scope="module")
def inputs() -> np.ndarray:
    pictures = digits.held_out()[0]
    return np.stack([digits.to_input(each[np.newaxis], "int8") for each in pictures])


KINDS = pytest.mark.parametrize("kind", ["http", "grpc"])


@KINDS
def test_health_and_metadata(server: Server, library: Any, kind: str) -> None:
    client = server.client(kind)
    assert client.is_server_live()
    assert client.is_server_ready()
    assert client.is_model_ready("digits")
    options = {"as_json": True} if kind == "grpc" else {}
    found = client.get_model_metadata("digits", **options)
    client.close()
    for key, infos in (("inputs", library.inputs), ("outputs", library.outputs)):
        (each,), (info,) = found[key], infos
        assert (each["name"], each["datatype"]) == (info.name, "INT8")
        assert [*map(int, each["shape"])] == [*info.shape]


@KINDS
def test_integers_and_reals(server: Server, library: Any, inputs: np.ndarray, kind: str) -> None:
    (y,) = library.outputs
    integers = inputs[0]
    reals = ((integers.astype(np.float32) + 128) / digits.INK).astype(np.float32)
    for array in (integers, reals):
        found = server.ask(kind, array).as_numpy(y.name)
        assert found.dtype == np.int8
        np.testing.assert_array_equal(found, library.run(integers))
    found = server.ask(kind, integers, parameters={"dequantize_outputs": True}).as_numpy(y.name)
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, library.run(integers, dequantize_outputs=True))


@KINDS
def test_classes_have_names(server: Server, library: Any, inputs: np.ndarray, kind: str) -> None:
    (y,) = library.outputs
    output = {"name": y.name, "top": 3}
    found = server.ask(kind, inputs[0], output=output).as_numpy(y.name)
    assert found.shape == (1, 3)
    text = found[0, 0] if isinstance(found[0, 0], str) else found[0, 0].decode()
    _, number, name = text.split(":")
    assert int(number) == library.run(inputs[0]).argmax()
    assert name == NAMES[int(number)]


@KINDS
def test_clients_at_once(server: Server, library: Any, inputs: np.ndarray, kind: str) -> None:
    (y,) = library.outputs

    def work(place: int) -> bool:
        some = inputs[place::CLIENTS][:10]
        return all(
            np.array_equal(server.ask(kind, each).as_numpy(y.name), library.run(each))
            for each in some
        )

    assert in_threads(work, CLIENTS) == [True] * CLIENTS


def in_threads(work: Callable[[int], Any], count: int) -> list[Any]:
    """Return the threads' results; gevent, which the HTTP client uses, has a hub in each thread."""
    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(work, range(count), timeout=60))


@KINDS
@pytest.mark.parametrize(
    ("array", "name", "message"),
    [
        (np.zeros((1, 8, 8, 1), np.int8), "nobody", "no input is named 'nobody'; there are"),
        (np.zeros((1, 8, 8), np.int8), "", "takes int8 of shape (1, 8, 8, 1), got int8"),
        (np.zeros((2, 8, 8, 1), np.int8), "", "got int8 of shape (2, 8, 8, 1)"),
        (np.zeros((1, 8, 8, 1), np.uint8), "", "got uint8 of shape"),
    ],
)
def test_wrong_requests_are_one_error(
    server: Server, kind: str, array: np.ndarray, name: str, message: str
) -> None:
    with pytest.raises(InferenceServerException) as error:
        server.ask(kind, array, name)
    assert message in str(error.value)
    assert error.value.status() in ("400", "StatusCode.INVALID_ARGUMENT")


def test_malformed_bodies_are_errors(server: Server, library: Any) -> None:
    zeros = {"datatype": "INT8", "shape": [1, 8, 8, 1], "data": [0] * 64}
    tensor = {"name": library.inputs[0].name, **zeros}
    good = {"inputs": [tensor]}
    status, answer = server.post(json.dumps(good).encode())
    assert (status, len(answer["outputs"])) == (200, 1)
    bad: list[tuple[Any, str]] = [
        (b"", "this is no request"),
        (b"\xff\xfe{", "this is no request"),
        (b'{"inputs": [NaN]}', "this is no request"),
        (b"[" * 100_000, "this is no request"),
        ({"inputs": "x"}, "inputs"),
        ({}, "inputs"),
        ({"inputs": []}, "missing input"),
        ({"inputs": [tensor, tensor]}, "given twice"),
        ({"inputs": [{**tensor, "datatype": "FP99"}]}, "datatype"),
        ({"inputs": [{**tensor, "datatype": "BYTES"}]}, "a picture in JSON is text in base64"),
        ({"inputs": [tensor], "parameters": {"classification": "x"}}, "classification is a number"),
        ({"inputs": [{**tensor, "shape": []}]}, "shape [], but 64"),
        ({"inputs": [{**tensor, "shape": [-1, -64]}]}, "shape [-1, -64]"),
        ({"inputs": [{**tensor, "shape": [1 << 40, 8, 8, 1]}]}, "but 64 numbers"),
        ({"inputs": [{**tensor, "data": [0] * 63}]}, "but 63 numbers"),
        ({"inputs": [{**tensor, "data": [128] * 64}]}, "from 128 to 128"),
        ({"inputs": [{**tensor, "data": [None] * 64}]}, "null"),
        ({"inputs": [{**tensor, "data": ["x"] * 64}]}, "text"),
        ({"inputs": [tensor], "outputs": [{"name": "nobody"}]}, "no output is named 'nobody'"),
        ({"inputs": [tensor], "id": "€"}, "id is printable Latin-1"),
        ({"inputs": [tensor], "id": "a\nb: c"}, "id is printable Latin-1"),
        ({"inputs": [tensor], "parameters": {"dequantize_outputs": "false"}}, "true or false"),
    ]
    for body, message in bad:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        status, answer = server.post(content)
        assert 400 <= status < 500, (body, answer)
        assert message in answer["error"]
    assert server.post(json.dumps(good).encode(), "nothing")[0] == 404
    assert server.post(json.dumps(good).encode())[0] == 200


def test_bodies_that_are_too_large_or_of_another_kind_or_have_nan(server: Server) -> None:
    status, answer = server.post(b"[" + b"0," * (20 << 20) + b"0]")
    assert status == 413
    assert "the body has more than" in answer["error"]
    assert server.post(b"\x1f\x8b", **{"Content-Encoding": "gzip"})[0] == 415
    binary = {"Inference-Header-Content-Length": "2"}
    assert "binary_data=False" in server.post(b"{}", **binary)[1]["error"]
    with pytest.raises(InferenceServerException, match="larger than max"):
        server.ask("grpc", np.zeros((40 << 20, 1, 1, 1), np.int8))
    with pytest.raises(InferenceServerException, match="has NaN"):
        server.ask("grpc", np.full((1, 8, 8, 1), np.nan, np.float32))


def test_pictures_are_prepared_as_run_does(server: Server, library: Any, tmp_path: Path) -> None:
    ink = np.random.default_rng(0).integers(0, 256, (30, 20), np.uint8)
    Image.fromarray(ink).save(path := tmp_path / "digit.png")
    (array,) = read_inputs([str(path)], library.inputs).values()
    expected, content = library.run(array), path.read_bytes()
    status, answer = server.post(content, **{"Content-Type": "image/png"})
    assert status == 200, answer
    assert answer["outputs"][0]["data"] == expected.ravel().tolist()
    words = "infer?classification=1"
    text = server.post(content, words, **{"Content-Type": "image/png"})[1]["outputs"][0]["data"]
    assert text[0].split(":")[1:] == [str(expected.argmax()), NAMES[expected.argmax()]]
    pictures = np.array([content], np.object_)
    found = server.ask("grpc", pictures, library.inputs[0].name).as_numpy(library.outputs[0].name)
    np.testing.assert_array_equal(found, expected)


def test_a_folder_is_followed_while_clients_ask(folder: Path, tmp_path: Path) -> None:
    library_of(digits.model("uint8"), "host", num_threads=1).export(tmp_path / "uint8.so")
    models = tmp_path / "models"
    (models / "digits").mkdir(parents=True)
    shutil.copyfile(folder / "digits.so", models / "digits" / "1.so")
    shutil.copyfile(folder / "digits.so", models / "other.so")
    file = io.BytesIO()
    Image.fromarray(np.zeros((8, 8), np.uint8)).save(file, "PNG")
    ports = free_ports()
    places = zip(("--port", "--grpc-port", "--metrics-port"), map(str, ports), strict=True)
    words = ["tvm_qnn", "serve", str(models), *sum(places, ())]

    def answered(path: str = "infer") -> str:
        """Return the type of the answer to a picture, or the error."""
        status, found = server.post(file.getvalue(), path, **{"Content-Type": "image/png"})
        return found["outputs"][0]["datatype"] if status == 200 else found["error"]

    def wait(path: str, text: str) -> None:
        end = time.monotonic() + 30
        while text not in (found := answered(path)):
            assert time.monotonic() < end, found
            time.sleep(0.1)

    def ask() -> None:
        while not ended.is_set():
            kinds.append(answered())

    with started("digits", ports, *words) as server:
        kinds: list[str] = []
        ended = threading.Event()
        asking = [threading.Thread(target=ask) for _ in range(4)]
        for thread in asking:
            thread.start()
        shutil.copyfile(tmp_path / "uint8.so", models / "digits" / "2.so")
        wait("versions/2/infer", "UINT8")
        assert answered("versions/1/infer") == "INT8"
        (models / "digits" / "2.so").write_bytes(b"no library")
        time.sleep(3)
        assert answered() == "UINT8", "the old one is served"
        shutil.copyfile(folder / "digits.so", models / "digits" / "2.so")
        wait("infer", "INT8")
        (models / "digits" / "2.so").unlink()
        wait("versions/2/infer", "not found")
        ended.set()
        for thread in asking:
            thread.join(20)
        assert set(kinds) == {"INT8", "UINT8"}, "no request failed meanwhile"
        server.name = "other"
        assert answered() == "INT8"


def test_metrics_count(server: Server, inputs: np.ndarray) -> None:
    def answered() -> float:
        pattern = r'^model_infer_request_success_total\{model="digits".*\} ([\d.]+)$'
        return sum(map(float, re.findall(pattern, server.metrics(), re.MULTILINE)))

    before = answered()
    server.ask("grpc", inputs[0])
    server.ask("http", inputs[0])
    assert answered() == before + 2
    assert "model_infer_request_duration" in server.metrics()


def asking(kind: str, server: Server, library: Any, inputs: np.ndarray) -> tuple[Any, ...]:
    """Return what ``measured`` takes first."""
    if kind == "http":
        return over_http, server.ports[0], "digits", http_body(library.inputs, [inputs[0]])
    return over_grpc, server.ports[1], "digits", grpc_body("digits", library.inputs, [inputs[0]])


@KINDS
def test_memory_stays(kind: str, server: Server, library: Any, inputs: np.ndarray) -> None:
    ask = (*asking(kind, server, library, inputs), CLIENTS)
    measured(*ask, requests=REQUESTS // 5)
    before = server.resident()
    assert len(measured(*ask, requests=REQUESTS).seconds) == REQUESTS
    assert server.resident() - before < 4096  # KiB


@KINDS
def test_no_request_waits_much_longer_than_the_others(
    kind: str, server: Server, library: Any, inputs: np.ndarray
) -> None:
    ask = (*asking(kind, server, library, inputs), 20)
    measured(*ask, requests=500)

    def slowest_beside_median() -> float:
        median, last = np.quantile(measured(*ask, requests=2000).seconds, (0.5, 0.99))
        return float(last / median)

    # A server that stops to collect garbage takes 10 times the median in each try. Other programs
    # may slow down single tries; on an idle machine this is 1.4.
    assert any(slowest_beside_median() < 4 for _ in range(10))


def test_a_port_that_is_taken_is_one_error(server: Server, folder: Path) -> None:
    words = ["serve", str(folder / "digits.so"), "--port", str(server.ports[0])]
    done = subprocess.run(
        [sys.executable, "-m", "tvm_qnn", *words], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stderr.startswith(f"Error: cannot listen on 127.0.0.1, port {server.ports[0]}: ")


def test_requests_are_joined_and_none_harms_another(tmp_path: Path) -> None:
    kind = ((ROWS, 6), "int8", Quantization.per_tensor(0.5, 0))
    content = model_of(Subgraph({"x y": kind}, [("RELU", "x", "y")], "x", "y"))
    (tmp_path / "rows.tflite").write_bytes(content)
    generator = np.random.default_rng(0)

    def work(place: int) -> Any:
        if place % 4 == 3:  # as long, but of another shape
            try:
                server.ask("grpc", np.zeros((2, 3), np.int8), "x")
            except InferenceServerException as error:
                return "takes int8" in str(error)
            return False
        if place % 4 == 2:  # and one that gives up
            try:
                server.ask("grpc", arrays[place], "x", client_timeout=0.02)
            except InferenceServerException:
                return True
        found = server.ask("grpc", arrays[place], "x").as_numpy("y")
        return np.array_equal(found, np.maximum(arrays[place], 0))

    arrays = [
        generator.integers(-128, 128, (1 + place % 6, 6)).astype(np.int8) for place in range(32)
    ]

    def pair(place: int) -> bool:
        if place == 0:  # gives up while it waits with the other one
            with pytest.raises(InferenceServerException, match="Deadline"):
                server.ask("grpc", arrays[0], "x", client_timeout=0.3)
            return True
        time.sleep(0.1)
        found = server.ask("grpc", arrays[6], "x", client_timeout=10).as_numpy("y")
        return np.array_equal(found, np.maximum(arrays[6], 0))

    def seconds(place: int) -> float:
        start = time.perf_counter()
        server.ask("grpc", arrays[6 * place], "x")  # of one row each
        return time.perf_counter() - start

    with of_command("rows", tmp_path / "rows.tflite", "--batch-wait", "1000") as server:
        assert in_threads(pair, 2) == [True] * 2
        assert in_threads(work, 32) == [True] * 32
        assert seconds(0) >= 1, "one waits for others"
        assert max(in_threads(seconds, ROWS)) < 1, "and no longer once they are enough"


def test_mlserver_itself_starts_a_library(folder: Path, library: Any, inputs: np.ndarray) -> None:
    ports = free_ports()
    names = ("http_port", "grpc_port", "metrics_port")
    settings = {"host": "127.0.0.1", "parallel_workers": 0, **dict(zip(names, ports, strict=True))}
    model = {
        "name": "own",
        "implementation": "tvm_qnn.serving.Runtime",
        "parameters": {"uri": "./digits.so", "extra": {"labels": "names.txt"}},
    }
    (folder / "settings.json").write_text(json.dumps(settings), encoding="utf-8")
    (folder / "model-settings.json").write_text(json.dumps(model), encoding="utf-8")
    words = ["mlserver.cli.main", "start", str(folder)]
    with started("own", ports, *words) as server:
        found = server.ask("grpc", inputs[0]).as_numpy(library.outputs[0].name)
    np.testing.assert_array_equal(found, library.run(inputs[0]))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it(folder: Path, number: signal.Signals) -> None:
    with of_command("digits", folder / "digits.so") as server:
        server.process.send_signal(number)
        assert server.process.wait(20) == 0
    assert not [line for line in server.lines if line.startswith(("ERROR", "Traceback"))]
