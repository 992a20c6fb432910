from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image

from frontends.tflite.quantization import Quantization
from frontends.tflite.writer import ModelWriter
from tests.support.linking import needs_linker
from tests.tvm_qnn.cli.commands.conftest import SHOWN
from tvm_qnn import digits
from tvm_qnn.cli import main
from tvm_qnn.oracle import litert_tensors


@pytest.fixture
def digit(model: Path) -> np.ndarray:
    """Return the model's input, which is also in the folder as an array."""
    array = digits.to_input(digits.held_out()[0][:1], "int8")
    np.save("digit.npy", array)
    return array


def test_outputs_are_litert_s_and_can_be_kept(model: Path, digit: np.ndarray) -> None:
    arguments = ["run", str(model), "-i", "digit.npy", "-o", "out.npz", "--top", "3", "--json"]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.output
    expected = litert_tensors(model.read_bytes(), [digit])
    (answer,) = json.loads(result.stdout)
    with np.load("out.npz") as found:
        assert np.array_equal(found[answer["output"]], expected[max(expected)])
    assert len(answer["classes"]) == 3
    assert answer["classes"][0]["index"] == int(expected[max(expected)].argmax())


def test_outputs_may_be_named_as_arguments_of_numpy_s(tmp_path: Path) -> None:
    writer = ModelWriter()
    quantization = Quantization.per_tensor(0.5, 0)
    x, y = (writer.tensor(name, (1, 4), "int8", quantization) for name in ("x", "file"))
    writer.operator("RELU", [x], [y])
    (tmp_path / "net.tflite").write_bytes(writer.finish([x], [y]))
    np.save(tmp_path / "x.npy", np.array([[-3, 0, 2, 127]], np.int8))
    output = tmp_path / "out.npz"
    arguments = [tmp_path / "net.tflite", "-i", tmp_path / "x.npy", "-o", output]
    result = CliRunner().invoke(main, ["run", *map(str, arguments)])
    assert result.exit_code == 0, result.output
    with np.load(output) as found:
        assert found.files == ["file"]
        assert found["file"].tolist() == [[0, 0, 2, 127]]


@needs_linker
def test_a_compiled_library_on_a_picture_with_labels(model: Path, digit: np.ndarray) -> None:
    runner = CliRunner()
    assert runner.invoke(main, ["compile", str(model)]).exit_code == 0
    _, height, width, _ = digit.shape
    pixels = (digit[0, :, :, 0].astype(np.int16) + 128).astype(np.uint8)
    Image.fromarray(pixels.reshape(height, width)).save("digit.png")
    Path("labels.txt").write_text("\n".join(f"number {i}" for i in range(10)))
    arguments = ["run", "digits.so", "--input", "digit.png", "--labels", "labels.txt"]
    result = runner.invoke(main, arguments)
    assert result.exit_code == 0, result.output
    label = digits.held_out()[1][0]
    first = next(line for line in result.stdout.splitlines() if "number" in line)
    assert f"number {label}" in first


def test_an_mxnet_model_takes_a_picture_and_its_channels_come_first(tmp_path: Path) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (8, 8), np.uint8)
    Image.fromarray(pixels).save(tmp_path / "digit.png")
    np.save(tmp_path / "digit.npy", pixels[None, None].astype(np.float32) / np.float32(127.5) - 1)
    symbol = Path(__file__).parents[3] / "fixtures" / "mxnet_digits" / "digits-symbol.json"
    answers = []
    for name in ("digit.png", "digit.npy"):
        arguments = ["run", str(symbol), "--shape", "data=1,1,8,8", "-i", str(tmp_path / name)]
        result = CliRunner().invoke(main, [*arguments, "--json"])
        assert result.exit_code == 0, result.output
        answers.append(json.loads(result.stdout))
    assert answers[0] == answers[1]
    assert len(answers[0][0]["classes"]) == 5


def test_a_library_takes_no_shape(tmp_path: Path) -> None:
    path = tmp_path / "net.so"
    path.touch()
    for command in (["run", str(path), "-i", str(path)], ["bench", str(path)]):
        result = CliRunner().invoke(main, [*command, "--shape", "x=1,2"])
        assert result.exit_code == 2
        assert "are for model files" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["-i", "none.png"], 1, "there is no file none.png"),
        (["-i", "x=none.npy"], 1, "there is no file none.npy"),
        (["-i", "digit.npy", "-o", "none/out.npz"], 1, "there is no folder none"),
        (["-i", "digit.npy", "-o", "out.txt"], 2, "must end in .npz"),
        (["-i", "digit.npy", "--labels", "digits.tflite"], 1, "cannot read the labels"),
        ([], 2, "Missing option '--input'"),
    ],
)
def test_what_does_not_work_is_one_line(
    model: Path, digit: np.ndarray, arguments: list[str], code: int, message: str
) -> None:
    result = CliRunner().invoke(main, ["run", str(model), *arguments])
    assert result.exit_code == code
    assert message in result.stderr


def test_names_and_labels_are_shown_as_they_are(hostile: Path) -> None:
    np.save("x.npy", np.array([[1, 4, 3, 2]], np.int8))
    Path("labels.txt").write_text("dog [big]\nend [/INST]\n:car:\n\x1b[2Jx\n")
    arguments = [hostile.name, "-i", "x.npy", "--labels", "labels.txt"]
    result = CliRunner().invoke(main, ["run", *arguments])
    assert result.exit_code == 0, result.output
    for text in (f"{SHOWN}: int8 1×4", "dog [big]", "end [/INST]", ":car:", r"\x1b[2Jx"):
        assert text in result.stdout


def test_an_error_shows_names_as_they_are(hostile: Path) -> None:
    np.save("x.npy", np.zeros((2, 2), np.int8))
    result = CliRunner().invoke(main, ["run", hostile.name, "-i", "x.npy"])
    assert result.exit_code == 1
    assert "\x1b" not in result.stderr


@pytest.mark.usefixtures("no_build")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-i", "digit.npy", "-o", "/proc/out.npz"], "no file can be made"),
        (["-i", "small.npy"], "has shape"),
        (["-i", "digit.npy", "--labels", "labels.txt"], "names 1 classes"),
    ],
)
def test_what_does_not_work_is_told_before_the_work(
    model: Path, digit: np.ndarray, arguments: list[str], message: str
) -> None:
    np.save("small.npy", np.zeros((2, 2), np.int8))
    Path("labels.txt").write_text("dog\n")
    result = CliRunner().invoke(main, ["run", str(model), *arguments])
    assert result.exit_code == 1
    assert message in result.stderr


def test_json_has_no_nan(tmp_path: Path) -> None:
    writer = ModelWriter()
    x, y = (writer.tensor(name, (2, 2), "float32") for name in "xy")
    writer.operator("RELU", [x], [y])
    (tmp_path / "net.tflite").write_bytes(writer.finish([x], [y]))
    np.save(tmp_path / "X.NPY", np.array([[np.inf, 1], [2, 3]], np.float32))
    Path(f"{tmp_path}/X.NPY.npy").rename(tmp_path / "X.NPY")
    arguments = ["run", str(tmp_path / "net.tflite"), "-i", str(tmp_path / "X.NPY"), "--json"]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.output
    (answer,) = json.loads(result.stdout, parse_constant=pytest.fail)
    assert answer["max"] is None
