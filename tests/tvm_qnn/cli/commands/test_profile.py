import json
import re
import sys
from itertools import pairwise
from pathlib import Path

import pytest
from click.testing import CliRunner

from frontends.tflite.quantization import Quantization
from frontends.tflite.writer import ModelWriter
from tests.support.commands import refused, said
from tests.tvm_qnn.cli.commands.conftest import SHOWN
from tvm_qnn import digits
from tvm_qnn.cli import main


def test_the_table_and_the_picture(tmp_path: Path) -> None:
    model = tmp_path / "digits.tflite"
    model.write_bytes(digits.model("int8"))
    output = tmp_path / "out"
    arguments = ["profile", str(model), "--repeat", "2", "--output", str(output)]
    text = said(main, arguments)
    # Among the layers, and among the kinds of operators.
    assert text.count("CONV_2D") >= 2
    assert "ms a run" in text
    assert (output / "profile_digits.png").read_bytes().startswith(b"\x89PNG")


def profiled(monkeypatch: pytest.MonkeyPatch, path: Path, columns: int) -> list[list[str]]:
    """Return the lines of the table of layers, cell by cell."""
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.chdir(path.parent)
    lines = said(main, ["profile", path.name, "--rounds", "1"]).partition("└")[0].splitlines()
    assert max(map(len, lines)) <= columns
    return [[cell.strip() for cell in re.split("[│┃]", line)[1:-1]] for line in lines]


def long_names(path: Path) -> Path:
    """Write a model whose layers are told apart by the ends of their names."""
    writer = ModelWriter()
    names = ["x", *(f"MobilenetV2/expanded_conv_{n}/expand/LeakyRelu;other/{n}" for n in "12")]
    tensors = [
        writer.tensor(name, (1, 112, 112, 96), "int8", Quantization.per_tensor(0.5, 0))
        for name in names
    ]
    for given, made in pairwise(tensors):
        writer.operator("HARD_SWISH", [given], [made])
    path.write_bytes(writer.finish(tensors[:1], tensors[1:]))
    return path


def test_names_are_legible_in_80_columns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = long_names(tmp_path / "m.tflite")
    first = [row[0] for row in profiled(monkeypatch, path, 80) if row]
    assert first.count("HARD_SWISH") == 2
    ends = [cell for cell in first if cell.startswith("…")]
    for cell, number in zip(ends, "12", strict=True):
        assert cell.endswith(f"_{number}/expand/LeakyRelu")
    wide = [row[:2] for row in profiled(monkeypatch, path, 200) if len(row) == 7]
    assert ["MobilenetV2/expanded_conv_1/expand/LeakyRelu;other/1", "HARD_SWISH"] in wide


def test_a_missing_or_other_file_is_told_at_once(tmp_path: Path) -> None:
    assert "does not exist" in refused(main, ["profile", "no.tflite"], code=2)
    path = tmp_path / "net.pt"
    path.touch()
    text = refused(main, ["profile", str(path)])
    assert "which are .tflite for TFLite, .json for MXNet, .onnx for ONNX" in text
    path = tmp_path / "net-symbol.json"
    path.write_text("{}")
    text = refused(main, ["compare", str(path)])
    assert "is of MXNet: a comparison is of TFLite with litert, ONNX" in text


def test_json_for_programs_and_no_picture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("digits.tflite").write_bytes(digits.model("int8"))
    found = json.loads(said(main, ["profile", "digits.tflite", "--rounds", "2", "--json"]))
    assert found["seconds"] > 0
    assert "CONV_2D" in [layer["code"] for layer in found["layers"]]
    assert not Path("out").exists()


def test_an_mxnet_model_by_its_operators(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path(__file__).parents[3] / "fixtures" / "mxnet_digits")
    arguments = ["profile", "digits-symbol.json", "--shape", "data=1,1,8,8", "--rounds", "2"]
    found = json.loads(said(main, [*arguments, "--json"]))
    layers = {layer["code"]: layer for layer in found["layers"]}
    dense = layers["_sg_mkldnn_fully_connected"]
    assert dense["operations"] == 2 * 128 * 10
    assert dense["shape"] == [1, 10]
    assert found["operations"] > dense["operations"]


def test_names_are_shown_as_they_are(hostile: Path) -> None:
    text = said(main, ["profile", hostile.name, "--rounds", "1"])
    assert SHOWN in text
    assert f"Picture: out/profile_{hostile.stem}.png" in text


@pytest.mark.usefixtures("no_build")
@pytest.mark.parametrize(
    ("options", "message"),
    [(["--target", "aarch64"], "cannot run here"), (["--output", "/proc/out"], "cannot write")],
)
def test_what_does_not_work_is_told_at_first(model: Path, options: list[str], message: str) -> None:
    assert message in refused(main, ["profile", str(model), *options])


def test_no_picture_without_matplotlib(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    result = CliRunner().invoke(main, ["profile", str(model), "--rounds", "1"])
    assert result.exit_code == 0, result.output
    assert "ms a run" in result.stdout
    assert result.stderr.startswith("Without a picture: drawing needs matplotlib")
    assert not Path("out").exists()
