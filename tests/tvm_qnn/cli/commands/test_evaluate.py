import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result
from PIL import Image

from frontends.tflite.quantization import Quantization
from tests.support.detectors import detector
from tests.support.linking import needs_linker
from tests.support.onnx_networks import Style, resnet
from tests.support.pictures import SETTINGS, write_digits, write_picture
from tests.support.tflite import one, x
from tvm_qnn import digits
from tvm_qnn.cli import main
from tvm_qnn.demo.digits import classify

COUNT = 40


@pytest.fixture
def pictures(model: Path) -> Path:
    """Return a folder of digits beside their model and its settings, in the current folder."""
    write_digits(model.parent / "pictures", COUNT)
    model.with_suffix(".toml").write_text(SETTINGS)
    return model.parent / "pictures"


def evaluate(*words: object) -> Result:
    return CliRunner().invoke(main, ["evaluate", *map(str, words)])


def figures(*words: object) -> dict[str, Any]:
    result = evaluate(*words, "--json")
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(result.stdout, parse_constant=pytest.fail)
    del found["run"]
    return found


def test_the_digits_as_the_demo_counts_them(model: Path) -> None:
    rows, labels = digits.held_out()
    np.savez("held_out.npz", pictures=rows, labels=labels)
    found = figures(model, "held_out.npz", "--jobs", 1)
    expected = classify("int8")
    assert found["samples"] == 450
    assert found["figures"]["right"] == expected.right
    beside = found["beside"]
    assert beside["title"] == "LiteRT's reference kernels"
    assert (beside["equal"], beside["agreeing"]) == (450, expected.equal_predictions)
    assert (beside["differing"], beside["elements"]) == (0, expected.scores.size)
    assert beside["figures"] == found["figures"]


@pytest.mark.usefixtures("pictures")
def test_forms_of_data_and_a_library_give_the_same(model: Path) -> None:
    rows, labels = digits.held_out()
    paths = write_digits(Path("pictures"), COUNT)
    pairs = [*zip(paths, labels[:COUNT].tolist(), strict=True)]
    Path("list.csv").write_text("".join(f"{path},{label}\n" for path, label in pairs))
    lines = (json.dumps({"path": str(path), "label": label}) for path, label in pairs)
    Path("list.jsonl").write_text("\n".join(lines))
    reals = (rows[:COUNT, ..., None] / digits.INK).astype(np.float32)
    np.savez("rows.npz", x=reals, y=labels[:COUNT])
    expected = figures(model, "pictures", "--jobs", 1)["figures"]
    assert expected["right"] > 0.9 * COUNT
    for name in ("list.csv", "list.jsonl", "rows.npz"):
        found = figures(model, name, "--jobs", 1, "--alone")
        assert found["figures"] == expected, name
        assert found["beside"] is None


@needs_linker
def test_processes_a_stop_and_a_library_give_the_same(model: Path, pictures: Path) -> None:
    expected = figures(model, "pictures", "--jobs", 1, "-o", "one")
    journal = Path("one/journal.jsonl").read_text().splitlines()
    assert len(journal) == COUNT + 1
    Path("two").mkdir()
    Path("two/journal.jsonl").write_text("\n".join(journal[:9]) + '\n{"key": "')
    result = evaluate(model, "pictures", "--jobs", 2, "-o", "two", "--json")
    assert result.exit_code == 0, result.output
    again = json.loads(result.stdout)
    assert again.pop("run")["new_samples"] == COUNT - 8
    assert again == expected
    assert Path("one/figures.json").read_bytes() == Path("two/figures.json").read_bytes()
    assert Path("one/samples.csv").read_bytes() == Path("two/samples.csv").read_bytes()
    assert CliRunner().invoke(main, ["compile", str(model)]).exit_code == 0
    # Its TOML lies beside it by the same name.
    found = figures("digits.so", "pictures", "--against", model, "--jobs", 1)
    assert found["figures"] == expected["figures"]
    assert found["beside"]["equal"] == COUNT


def test_two_models_are_compared(model: Path, pictures: Path) -> None:
    Path("other.tflite").write_bytes(digits.model("uint8"))
    found = figures(model, pictures, "--against", "other.tflite", "--jobs", 1)
    beside = found["beside"]
    assert beside["title"] == "other.tflite on LiteRT's reference kernels"
    assert beside["compared"] == 0  # int8 and uint8
    assert beside["agreeing"] > 0.9 * COUNT
    assert (
        beside["figures"]["right"]
        == figures("other.tflite", pictures, "--config", "digits.toml", "--jobs", 1)["figures"][
            "right"
        ]
    )


def test_an_mxnet_model_runs_alone(tmp_path: Path) -> None:
    write_digits(tmp_path / "pictures", COUNT)
    symbol = Path(__file__).parents[3] / "fixtures" / "mxnet_digits" / "digits-symbol.json"
    options = ["--shape", "data=1,1,8,8", "--jobs", 1]
    found = figures(symbol, tmp_path / "pictures", *options)
    assert found["beside"] is None
    assert found["figures"]["top1"] > 0.9


def test_an_onnx_model_beside_onnx_runtime(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    model = resnet(Style("int8", "int8", per_channel=True, qdq=True))
    (tmp_path / "net.onnx").write_bytes(model.SerializeToString())
    rng = np.random.default_rng(1)
    for place in range(3):
        write_picture(tmp_path / "data" / f"{place}.png", rng.integers(0, 256, (20, 20, 3)))
    found = figures(
        tmp_path / "net.onnx", tmp_path / "data", "--mean", 127.5, "--std", 127.5, "--jobs", 1
    )
    assert found["beside"]["title"] == "ONNX Runtime"
    assert found["beside"]["equal"] == found["samples"] == 3
    assert found["figures"] == {}


def test_masks(tmp_path: Path) -> None:
    picture = x(1, 4, 4, 3, dtype="uint8", encoding=Quantization.per_tensor(1, 0))
    classes = {"gives": ((1, 4, 4), "int32", None), "output_type": "int32"}
    (tmp_path / "m.tflite").write_bytes(one("ARG_MAX", picture, 3, **classes).model())
    pixels = np.eye(3)[np.random.default_rng(0).integers(0, 3, (4, 4))] * 200
    mask = pixels.argmax(-1)
    mask[0, 0] = 255
    mask[1, 1] = (mask[1, 1] + 1) % 3
    write_picture(tmp_path / "data" / "images" / "a.png", pixels)
    write_picture(tmp_path / "data" / "masks" / "a.png", mask)
    found = figures(tmp_path / "m.tflite", tmp_path / "data", "--jobs", 1, "-o", tmp_path / "o")
    assert found["figures"]["accuracy"] == 14 / 15
    assert found["beside"]["equal"] == 1
    assert (tmp_path / "o" / "report.html").read_text().count("<figure>") == 1


def test_boxes(tmp_path: Path) -> None:
    pytest.importorskip("pycocotools", reason="pycocotools is not installed")
    (tmp_path / "d.tflite").write_bytes(detector())
    pixels = np.zeros((8, 8, 3), np.uint8)
    pixels[0, :2] = [[0, 192, 0], [0, 0, 128]]
    write_picture(tmp_path / "a.png", pixels)
    content = {
        "images": [{"id": 1, "file_name": "a.png", "width": 8, "height": 8}],
        "categories": [{"id": number, "name": f"c{number}"} for number in (1, 2, 3)],
        "annotations": [
            {"image_id": 1, "category_id": 2, "bbox": [0, 0, 4, 4]},
            {"image_id": 1, "category_id": 3, "bbox": [2, 5, 4, 2]},
        ],
    }
    (tmp_path / "boxes.json").write_text(json.dumps(content))
    found = figures(tmp_path / "d.tflite", tmp_path / "boxes.json", "--jobs", 1)
    assert found["figures"]["map"] == pytest.approx(1)
    assert found["beside"]["equal"] == 1


def test_figures_are_printed(model: Path, pictures: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    result = evaluate(model, pictures, "--jobs", 1, "-o", "out")
    assert result.exit_code == 0, result.output
    assert "digits.tflite on pictures: 40 samples" in result.stdout
    assert "right (top-1)" in result.stdout
    assert "40 of 40 samples have equal outputs; 0 of 400 elements differ." in result.stdout
    assert "Written: out/report.html" in result.stdout
    other = evaluate(model, pictures, "--jobs", 1, "-o", "out", "--std", "200")
    assert other.exit_code == 1
    assert "is of another evaluation" in other.stderr


@pytest.mark.usefixtures("no_build")
@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (["pictures", "--resize", "4"], 1, "resize 4 is too small: the input takes 8 × 8"),
        (["pictures", "--alone", "--against", "digits.tflite"], 2, "--alone runs nothing"),
        (["pictures", "--against", "bad.toml"], 1, "bad.toml is no model of a known format"),
        (["pictures", "--config", "bad.toml"], 1, "bad.toml: 'size' is no setting"),
        (["pictures", "--labels", "bad.toml"], 1, "names 1 classes"),
        (["list.csv"], 1, "list.csv, line 1: there is no file none.png"),
        (["broken.csv"], 1, "broken.csv, line 1: bad.toml is not a picture"),
        (["bad.toml"], 1, "bad.toml is no data"),
        (["masked"], 1, "the data are for a mask, but no output of the model"),
        (["pictures", "-o", "bad.toml"], 2, "is a file"),
        (["pictures", "-o", "/proc/x"], 1, "no file can be made"),
    ],
)
def test_what_does_not_work_is_told_before_the_work(
    model: Path, pictures: Path, options: list[str], code: int, message: str
) -> None:
    Path("bad.toml").write_text("size = 3\n")
    Path("list.csv").write_text("none.png,1\n")
    Path("broken.csv").write_text("bad.toml,1\n")
    for name in ("images", "masks"):
        write_picture(Path("masked") / name / "a.png", np.zeros((8, 8)))
    result = evaluate(model, *options)
    assert result.exit_code == code, result.output
    assert message in result.stderr


def test_a_picture_that_does_not_open_in_mid_run_is_named(model: Path, pictures: Path) -> None:
    bad = pictures / "9" / "zzz.png"
    bad.write_bytes(b"no picture")
    result = evaluate(model, pictures, "--jobs", 1, "-o", "out")
    assert result.exit_code == 1
    assert f"{bad} is not a picture that Pillow can read" in result.stderr
    # What was done counts when it is mended.
    Image.fromarray(np.zeros((8, 8), np.uint8)).save(bad)
    again = evaluate(model, pictures, "--jobs", 1, "-o", "out", "--json")
    assert json.loads(again.stdout)["run"]["new_samples"] == 1
