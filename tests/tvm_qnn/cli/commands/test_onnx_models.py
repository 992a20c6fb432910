"""Every command takes an .onnx file as it takes a .tflite file."""

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from PIL import Image

from tests.frontends.onnx.read.test_constants import decoder
from tests.support.commands import refused
from tests.support.linking import needs_linker
from tests.support.onnx_networks import Style, resnet
from tvm_qnn import digits
from tvm_qnn.cli import main
from tvm_qnn.oracle import onnxruntime_outputs

pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")


@pytest.fixture
def network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a small classifier, in the current folder, together with its inputs."""
    monkeypatch.chdir(tmp_path)
    model = resnet(Style("int8", "int8", per_channel=True, qdq=True))
    (tmp_path / "net.onnx").write_bytes(model.SerializeToString())
    pixels = np.random.default_rng(1).integers(0, 256, (20, 20, 3), np.uint8)
    Image.fromarray(pixels).save("photo.png")
    reals = pixels.transpose(2, 0, 1)[None].astype(np.float32) / np.float32(127.5) - 1
    np.save("photo.npy", reals)
    return tmp_path / "net.onnx"


def command(*words: str) -> Result:
    result = CliRunner().invoke(main, list(words))
    assert result.exit_code == 0, result.output
    return result


@pytest.mark.usefixtures("network")
def test_inspect_shows_operators_products_and_times() -> None:
    found = json.loads(command("inspect", "net.onnx", "--json").stdout)
    codes = [operator["code"] for operator in found["operators"]]
    assert codes.count("Conv") == 6
    assert found["macs"] > 1e5
    assert "ONNX" in command("inspect", "net.onnx").stdout
    assert "relax" in command("inspect", "net.onnx", "--ir").stdout.lower()
    command("inspect", "net.onnx", "--html", "page.html", "--times")
    page = Path("page.html").read_text("utf-8")
    assert '"has_times": true' in page
    assert "GlobalAveragePool" in page


@pytest.mark.usefixtures("network")
def test_profile_and_bench_name_the_file_s_operators() -> None:
    layers = json.loads(command("profile", "net.onnx", "--rounds", "1", "--json").stdout)["layers"]
    codes = [layer["code"] for layer in layers]
    assert codes.count("Conv") == 6
    assert {"Gemm", "MaxPool"} <= set(codes)
    assert all(layer["operations"] for layer in layers if layer["code"] == "Conv")
    times = json.loads(command("bench", "net.onnx", "--repeat", "2", "--json").stdout)
    assert {each["runs"] for each in times.values()} == {2}
    assert {*times} == {"tvm-qnn", "ONNX Runtime"}
    layers = json.loads(command("profile", "net.onnx", "--rounds", "2", "--json").stdout)
    assert layers["layers"]


@pytest.mark.usefixtures("network")
def test_run_takes_a_picture_and_prints_the_best_classes(network: Path) -> None:
    (wanted,) = onnxruntime_outputs(network, [np.load("photo.npy")]).values()
    for file in ("photo.png", "photo.npy"):
        words = ("run", "net.onnx", "-i", file, "-o", "out.npz", "--json")
        (answer,) = json.loads(command(*words).stdout)
        assert answer["classes"][0]["index"] == int(wanted.argmax())
        with np.load("out.npz") as found:
            np.testing.assert_array_equal(found[answer["output"]], wanted)


@needs_linker
@pytest.mark.usefixtures("network")
def test_a_compiled_library_gives_the_same() -> None:
    command("compile", "net.onnx")
    answers = [
        json.loads(command("run", name, "-i", "photo.png", "--json").stdout)
        for name in ("net.so", "net.onnx")
    ]
    assert answers[0] == answers[1]


@pytest.mark.usefixtures("network")
def test_compile_writes_c() -> None:
    files = json.loads(command("compile", "net.onnx", "-o", "net_c", "--json").stdout)["files"]
    assert {Path(file).suffix for file in files} >= {".o", ".h", ".c"}
    header = next(Path(file) for file in files if file.endswith(".h")).read_text()
    assert "float" in header


@pytest.mark.usefixtures("network")
def test_compare_is_with_onnx_runtime() -> None:
    for words in ((), ("--input", "photo.png", "--primitives")):
        found = json.loads(command("compare", "net.onnx", *words, "--json").stdout)
        assert found["equal"]
        assert found["reference"] == "ONNX Runtime"
        operators = [tensor["operator"] for tensor in found["tensors"]]
        assert {"Conv", "Add", "Gemm", "MaxPool", "Softmax", "DequantizeLinear"} <= {*operators}
    text = command("compare", "net.onnx", "--against", "onnxruntime").stdout
    assert "Equal to ONNX Runtime: " in text
    assert "net.onnx is of ONNX" in refused(main, ["compare", "net.onnx", "--against", "litert"])


@pytest.mark.usefixtures("network")
def test_open_sizes_come_by_name(network: Path) -> None:
    import onnx

    model = onnx.load(network)
    for value in (model.graph.input[0], model.graph.output[0]):
        value.type.tensor_type.shape.dim[0].dim_param = "batch"
    onnx.save(model, network)
    assert "needs a static shape" in refused(main, ["compare", "net.onnx"])
    name = model.graph.input[0].name
    found = command("compare", "net.onnx", "--shape", f"{name}=2,3,20,20", "--json")
    assert json.loads(found.stdout)["equal"]


def test_commands_take_values_of_inputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("net.onnx").write_bytes(decoder().SerializeToString())
    shapes = ("--shape", "x=2,8", "--shape", "past=3,8", "--value", "use=true")
    words = ("net.onnx", *shapes, "--value", "rate=16000")
    assert "Equal" in command("compare", *words).stdout
    described = json.loads(command("inspect", *words, "--json").stdout)
    assert [each["name"] for each in described["inputs"]] == ["x", "past"]
    result = CliRunner().invoke(main, ["inspect", "net.onnx", "--value", "rates=1"])
    assert "--value: no input is named 'rates'" in result.output
    result = CliRunner().invoke(main, ["inspect", "net.onnx", "--value", "rate=often"])
    assert "is not of the form NAME=16000" in result.output
    tflite = Path("net.tflite")
    tflite.write_bytes(digits.model("int8"))
    result = CliRunner().invoke(main, ["inspect", "net.tflite", "--value", "rate=1"])
    assert "--value is for ONNX models: net.tflite is none" in result.output
