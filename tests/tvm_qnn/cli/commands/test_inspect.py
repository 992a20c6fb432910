import json
import re
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from frontends.tflite.quantization import Quantization
from tests.support.commands import refused, said
from tests.support.tflite import Sheet, one, x
from tests.tvm_qnn.cli.commands.conftest import SHOWN
from tvm_qnn import digits
from tvm_qnn.cli import main


def test_the_table_json_and_the_module(model: Path) -> None:
    text = said(main, ["inspect", str(model)])
    assert "CONV_2D" in text
    assert "M MACs" in text
    assert "zero point" in text
    found = json.loads(CliRunner().invoke(main, ["inspect", str(model), "--json"]).stdout)
    assert found["macs"] == sum(operator["macs"] for operator in found["operators"]) > 0
    assert found["inputs"][0]["dtype"] == "int8"
    result = CliRunner().invoke(main, ["inspect", str(model), "--ir"])
    assert "R.qnn.quantized_conv2d" in result.stdout


def test_scales_are_numbers_with_all_their_digits(tmp_path: Path) -> None:
    scale = float(np.float32(1 / 3))
    path = tmp_path / "r.tflite"
    path.write_bytes(one("RELU", x(1, 4, encoding=Quantization.per_tensor(scale, 3))).model())
    found = json.loads(CliRunner().invoke(main, ["inspect", str(path), "--json"]).stdout)
    (tensor,) = found["inputs"]
    assert (tensor["scales"], tensor["zero_points"]) == ([scale], [3])
    assert found["operators"][0]["outputs"][0]["scales"] == [scale]


def test_ranges_of_mxnet_are_numbers() -> None:
    fixture = Path(__file__).parents[3] / "fixtures" / "mxnet_digits" / "digits-symbol.json"
    words = ["inspect", str(fixture), "--shape", "data=1,1,8,8", "--json"]
    found = json.loads(CliRunner().invoke(main, words).stdout)
    limits = found["operators"][0]["outputs"][0]["limits"]
    assert len(limits) == 2
    assert limits[0] < limits[1]


def test_what_cannot_be_imported_is_told_once(tmp_path: Path) -> None:
    sheet, path = Sheet(), tmp_path / "odd.tflite"
    sheet.add("SKIP_GRAM", sheet.made("SKIP_GRAM", x(2, 4)))
    path.write_bytes(sheet.model())
    text = said(main, ["inspect", str(path)])
    assert "SKIP_GRAM cannot be imported: no conversion rule" in text
    assert "(operator 0, 1)" in text


def test_odd_files_are_told_by_their_content(model: Path) -> None:
    other = model.rename("digits.bin")
    assert CliRunner().invoke(main, ["inspect", str(other)]).exit_code == 0
    model.write_bytes(other.read_bytes()[:300])
    assert len(refused(main, ["inspect", str(model)]).splitlines()) == 1
    other.write_bytes(b"?")
    assert "is no model of a known format" in refused(main, ["inspect", str(other)])


def test_pages_and_graphs_with_times(model: Path) -> None:
    arguments = ["inspect", str(model), "--html", "page.html", "--times"]
    said(main, arguments)
    assert '"has_times": true' in Path("page.html").read_text("utf-8")
    arguments = ["inspect", str(model), "--model-explorer", "graph.json", "--times"]
    said(main, arguments)
    (graph,) = json.loads(Path("graph.json").read_text("utf-8"))["graphs"]
    assert any(each["key"] == "time" for node in graph["nodes"] for each in node.get("attrs", ()))
    assert CliRunner().invoke(main, ["inspect", str(model), "--times"]).exit_code == 2


def test_the_difference_from_another_model(model: Path) -> None:
    Path("other.tflite").write_bytes(digits.model("uint8"))
    line = ["inspect", str(model), "--against", "other.tflite"]
    text = said(main, [*line, "--html", "page.html"])
    assert "0 operators are equal, 10 changed, 0 added, 0 removed" in " ".join(text.split())
    assert "types, quantization, values" in text
    assert '"change": "changed"' in Path("page.html").read_text("utf-8")
    found = json.loads(CliRunner().invoke(main, [*line, "--json"]).stdout)["against"]
    assert (found["name"], found["equal"], found["added"]) == ("other.tflite", 0, [])
    assert found["changed"][0]["changes"][0]["text"].startswith("input 0: int8, was uint8")
    same = CliRunner().invoke(main, ["inspect", str(model), "--against", str(model), "--json"])
    assert json.loads(same.stdout)["against"]["changed"] == []


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (["--ir", "--json"], 2, "--ir prints the module only"),
        (["--shape", "x=1,2"], 1, "no input is named 'x'"),
        (["--params", "digits.tflite"], 1, "--params is for MXNet models"),
        (["--html", "none/page.html"], 1, "there is no folder none"),
    ],
)
def test_idle_options_are_refused(model: Path, options: list[str], code: int, message: str) -> None:
    result = CliRunner().invoke(main, ["inspect", str(model), *options])
    assert result.exit_code == code
    assert message in result.stderr


def test_names_are_shown_as_they_are(hostile: Path) -> None:
    text = said(main, ["inspect", hostile.name])
    assert text.startswith(f"{hostile.name}, TFLite: 1 operators")
    assert f"  input x {SHOWN}  int8" in text
    assert f"  output {SHOWN}  int8" in text


def test_the_page_of_an_mxnet_model_with_times(tmp_path: Path) -> None:
    symbol = Path(__file__).parents[3] / "fixtures" / "mxnet_digits" / "digits-symbol.json"
    page = tmp_path / "page.html"
    arguments = [str(symbol), "--shape", "data=1,1,8,8", "--html", str(page), "--times"]
    said(main, ["inspect", *arguments])
    found = re.search(r'id="data">(.*?)</script>', page.read_text("utf-8"), re.DOTALL)
    assert found
    seconds = {node["code"]: node["seconds"] for node in json.loads(found[1])["nodes"]}
    assert seconds["_sg_mkldnn_fully_connected"] > 0
