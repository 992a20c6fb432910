import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image

from frontends.tflite import from_tflite
from frontends.tflite.quantization import Quantization
from frontends.tflite.writer import ModelWriter
from tests.support.commands import refused, said
from tests.support.detectors import detector
from tests.support.linking import needs_linker
from tests.support.metadata import Tensor, metadata, with_files
from tests.support.tflite import one, x
from tests.support.tflite_graphs import Subgraph, model_of
from tests.tvm_qnn.cli.commands.conftest import SHOWN
from tvm_qnn import digits
from tvm_qnn.build import build
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
    text = said(main, arguments)
    expected = litert_tensors(model.read_bytes(), [digit])
    (answer,) = json.loads(text)
    with np.load("out.npz") as found:
        assert np.array_equal(found[answer["output"]], expected[max(expected)])
    assert len(answer["classes"]) == 3
    assert answer["classes"][0]["index"] == int(expected[max(expected)].argmax())


def test_outputs_may_be_named_as_arguments_of_numpy_s(tmp_path: Path) -> None:
    kind = ((1, 4), "int8", Quantization.per_tensor(0.5, 0))
    main_graph = Subgraph({"x file": kind}, [("RELU", "x", "file")], "x", "file")
    (tmp_path / "net.tflite").write_bytes(model_of(main_graph))
    np.save(tmp_path / "x.npy", np.array([[-3, 0, 2, 127]], np.int8))
    output = tmp_path / "out.npz"
    arguments = [tmp_path / "net.tflite", "-i", tmp_path / "x.npy", "-o", output]
    said(main, ["run", *map(str, arguments)])
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
    # It quantizes its input from 0 to almost 1.
    np.save(tmp_path / "digit.npy", (pixels[None, None] * (0.99804305 / 255)).astype(np.float32))
    symbol = Path(__file__).parents[3] / "fixtures" / "mxnet_digits" / "digits-symbol.json"
    answers = []
    for name in ("digit.png", "digit.npy"):
        arguments = ["run", str(symbol), "--shape", "data=1,1,8,8", "-i", str(tmp_path / name)]
        answers.append(json.loads(said(main, [*arguments, "--json"])))
    assert answers[0] == answers[1]
    assert len(answers[0][0]["classes"]) == 5


def test_a_library_takes_no_shape(tmp_path: Path) -> None:
    path = tmp_path / "net.so"
    path.touch()
    text = refused(main, ["run", str(path), "-i", str(path), "--shape", "x=1,2"], code=2)
    assert "are for model files" in text


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
    written = said(main, ["run", *arguments])
    for text in (f"{SHOWN}: int8 1×4", "dog [big]", "end [/INST]", ":car:", r"\x1b[2Jx"):
        assert text in written


def test_an_error_shows_names_as_they_are(hostile: Path) -> None:
    np.save("x.npy", np.zeros((2, 2), np.int8))
    assert "\x1b" not in refused(main, ["run", hostile.name, "-i", "x.npy"])


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
    assert message in refused(main, ["run", str(model), *arguments])


def test_json_has_no_nan(tmp_path: Path) -> None:
    (tmp_path / "net.tflite").write_bytes(one("RELU", x(2, 2, dtype="float32")).model())
    np.save(tmp_path / "X.NPY", np.array([[np.inf, 1], [2, 3]], np.float32))
    Path(f"{tmp_path}/X.NPY.npy").rename(tmp_path / "X.NPY")
    arguments = ["run", str(tmp_path / "net.tflite"), "-i", str(tmp_path / "X.NPY"), "--json"]
    (answer,) = json.loads(said(main, arguments), parse_constant=pytest.fail)
    assert answer["max"] is None


@pytest.fixture
def found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a detector with labels, in the current folder, and a picture in which it finds two."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    described = metadata(
        [Tensor()], [Tensor(), Tensor([("names", 3)]), Tensor(threshold=0.25), Tensor()]
    )
    labels = {"names": b"ant\nb[red]ee\x1b[2J\n:car:\n"}
    (tmp_path / "net.tflite").write_bytes(with_files(detector(described), labels))
    pixels = np.zeros((8, 8, 3), np.uint8)
    pixels[0, :2] = [[0, 192, 0], [1, 0, 128]]
    Image.fromarray(pixels).save("small.png")
    Image.fromarray(pixels).resize((160, 80), Image.Resampling.NEAREST).save("in.png")
    return tmp_path / "net.tflite"


def test_detections_are_printed_and_drawn(found: Path) -> None:
    arguments = ["run", found.name, "-i", "in.png", "--draw", "out.png"]
    text = said(main, arguments)
    assert "taken for boxes of detections, with classes kinds, scores" in text
    assert "2 of 2, score 0.25 or more" in text
    assert r"b[red]ee\x1b[2J" in text
    assert ":car:" in text
    with Image.open("out.png") as drawn, Image.open("in.png") as picture:
        assert drawn.size == picture.size == (160, 80)
        assert drawn.getpixel((0, 20)) != picture.getpixel((0, 20))
    assert not list(Path().glob(".*"))


def test_what_the_model_sees_is_drawn_on(found: Path) -> None:
    arguments = ["run", found.name, "-i", "in.png", "--resize", "8", "--draw", "out.png"]
    said(main, arguments)
    with Image.open("out.png") as drawn:
        assert drawn.size == (8, 8)


def test_detections_are_told_in_json(found: Path) -> None:
    arguments = ["run", found.name, "-i", "small.png", "--json", "--threshold", "0.6"]
    boxes, *rest = json.loads(CliRunner().invoke(main, arguments).stdout)
    (one,) = boxes["detections"]
    assert (boxes["output"], boxes["threshold"]) == ("boxes", 0.6)
    assert (one["index"], one["label"]) == (1, "b[red]ee\x1b[2J")
    assert one["score"] == 0.75
    assert one["box"] == {"left": 0.0, "top": 0.0, "right": 0.5, "bottom": 0.5}
    assert [each["part_of"] for each in rest] == ["boxes"] * 3


@needs_linker
def test_a_library_knows_detections_and_takes_labels(found: Path) -> None:
    runner = CliRunner()
    assert runner.invoke(main, ["compile", found.name]).exit_code == 0
    Path("labels.txt").write_text("???\nx\ny\nz\n")
    arguments = ["run", "net.so", "-i", "in.png", "--labels", "labels.txt", "--json"]
    result = runner.invoke(main, arguments)
    assert result.exit_code == 0, result.output
    detections = json.loads(result.stdout)[0]["detections"]
    assert [each["label"] for each in detections] == ["y", "z"]


@pytest.mark.usefixtures("no_build")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-i", "in.png", "--draw", "none/out.png"], "there is no folder none"),
        (["-i", "in.png", "--draw", "/proc/out.png"], "no file can be made"),
        (["-i", "in.png", "--draw", "out.gif"], "must end in .png or .jpg"),
        (["-i", "in.npy", "--draw", "out.png"], "needs one picture as --input"),
        (["-i", "in.png", "--labels", "labels.txt"], "names 1 classes, but the model has 3"),
    ],
)
def test_a_drawing_that_cannot_be_made_is_told_before_the_work(
    found: Path, arguments: list[str], message: str
) -> None:
    np.save("in.npy", np.zeros((1, 8, 8, 3), np.uint8))
    Path("labels.txt").write_text("dog\n")
    assert message in refused(main, ["run", found.name, *arguments])


@pytest.mark.usefixtures("no_build")
def test_there_must_be_something_to_draw(model: Path) -> None:
    Image.new("L", (8, 8)).save("digit.png")
    arguments = ["run", str(model), "-i", "digit.png", "--draw", "out.png"]
    assert "no output of the model is known to be" in refused(main, arguments)


def test_metadata_that_cannot_be_read_is_a_warning(found: Path) -> None:
    found.write_bytes(detector(b"\xff" * 8))
    with pytest.warns(UserWarning, match="metadata is left out"):
        result = CliRunner().invoke(main, ["run", found.name, "-i", "in.png"])
    assert result.exit_code == 0, result.output


def test_the_segmentation_of_a_real_network(shared: Path, tmp_path: Path) -> None:
    model = shared / "models" / "tflite" / "deeplab_dm05_u8.tflite"
    picture, drawing = shared / "images" / "cat.bmp", tmp_path / "out.png"
    arguments = ["run", str(model), "-i", str(picture), "--draw", str(drawing), "--json"]
    regions = json.loads(said(main, arguments))[0]["mask"]["regions"]
    assert {region["index"] for region in regions} == {0, 8}  # background and cat
    with Image.open(drawing) as drawn, Image.open(picture) as given:
        assert drawn.size == given.size


def through_bytes(scale: float, point: int, content: bytes = b"") -> bytes:
    """Return a model that gives back its float32 input, quantized, with metadata."""
    writer = ModelWriter()
    x, z = (writer.tensor(name, (1, 2, 2, 3), "float32") for name in "xz")
    y = writer.tensor("y", (1, 2, 2, 3), "int8", Quantization.per_tensor(scale, point))
    writer.operator("QUANTIZE", [x], [y])
    writer.operator("DEQUANTIZE", [y], [z])
    return writer.finish([x], [z], metadata=content)


def test_metadata_normalizes_the_picture_of_a_float_input(tmp_path: Path) -> None:
    content = metadata([Tensor(mean=[100.0, 0.0, 50.0], std=[2.0])])
    (tmp_path / "net.tflite").write_bytes(through_bytes(1.0, 0, content))
    Image.new("RGB", (4, 4), (200, 100, 0)).save(tmp_path / "in.png")
    output = tmp_path / "out.npz"
    arguments = [tmp_path / "net.tflite", "-i", tmp_path / "in.png", "-o", output]
    said(main, ["run", *map(str, arguments)])
    with np.load(output) as arrays:
        assert (arrays["z"] == [50.0, 50.0, -25.0]).all()


@pytest.fixture
def float_net(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a model that gives back its float32 input, quantized from 0 to 1, and a picture."""
    monkeypatch.chdir(tmp_path)
    Path("net.tflite").write_bytes(through_bytes(1 / 255, -128))
    Image.new("RGB", (4, 4), (255, 51, 0)).save("in.png")
    return Path("net.tflite")


@pytest.mark.parametrize("is_library", [False, pytest.param(True, marks=needs_linker)])
def test_the_range_of_a_model_is_that_of_pictures(float_net: Path, is_library: bool) -> None:
    model = float_net
    if is_library:
        mod, params = from_tflite(float_net)
        model = Path("net.so")
        build(mod, "host", params).export(model)
    said(main, ["run", str(model), "-i", "in.png", "-o", "out.npz"])
    with np.load("out.npz") as arrays:
        np.testing.assert_allclose(arrays["z"][0, 0, 0], [1, 0.2, 0], atol=1e-6)


def test_mean_and_std_say_what_pixels_stand_for(float_net: Path) -> None:
    arguments = ["run", str(float_net), "-i", "in.png", "-o", "out.npz"]
    said(main, [*arguments, "--mean", "0,51,0", "--std", "510"])
    with np.load("out.npz") as arrays:
        np.testing.assert_allclose(arrays["z"][0, 0, 0], [0.5, 0, 0], atol=0.51 / 255)
    for option, value, error in [
        ("--std", "0", "cannot be 0"),
        ("--mean", "1,x", "'1,x' is no number, nor numbers with commas between"),
        ("--mean", "1,2", "takes pictures of 3 channels, but --mean and --std normalizes 2"),
    ]:
        result = CliRunner().invoke(main, [*arguments, option, value])
        assert result.exit_code != 0
        assert error in result.output
