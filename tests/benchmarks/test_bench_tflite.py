from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from benchmarks.bench_tflite import main, measure, models
from benchmarks.machine import setting
from benchmarks.report import OURS, PEER, Measurement, as_json, as_markdown, rows
from qnn_ops.errors import QnnError
from tvm_qnn import digits, zoo
from tvm_qnn.timing import Timing

MEASUREMENTS = [
    Measurement(
        "a", 0.04, 1.26, True, {OURS: Timing((0.002, 0.001, 0.004)), PEER: Timing((0.003,))}
    ),
    Measurement("b", 0.0, 60.0, False, {OURS: Timing((0.1234,)), PEER: Timing((0.0617,))}),
]


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "small.tflite"
    path.write_bytes(digits.model("int8"))
    return path


def test_the_table_has_medians_with_extremes_and_ratios() -> None:
    head, body = rows(MEASUREMENTS)
    assert head == [
        *("model", "import s", "build s", "exact"),
        *("tvm-qnn ms", "LiteRT ms", "× LiteRT"),
    ]
    assert body == [
        ["a", "0.0", "1.3", "yes", "2 (1–4)", "3 (3–3)", "1.50"],
        ["b", "0.0", "60.0", "NO", "123 (123–123)", "61.7 (62–62)", "0.50"],
    ]


def test_markdown_says_on_what_it_was_measured() -> None:
    about = setting()
    text = as_markdown(MEASUREMENTS, about)
    first, _, *table = text.splitlines()
    assert about.processor in first
    assert about.versions["ai-edge-litert"] in first
    assert about.date in first
    assert {line.count("|") for line in table} == {8}
    assert len(table) == 4


def test_json_has_every_run() -> None:
    fields = json.loads(as_json(MEASUREMENTS, setting()))
    assert fields["results"][0]["seconds"][OURS] == [0.002, 0.001, 0.004]
    assert fields["setting"]["versions"]["apache-tvm"]


def test_a_model_is_measured_with_every_program(model: Path) -> None:
    content = model.read_bytes()
    item = measure("small", content, [np.zeros((1, 8, 8, 1), np.int8)], rounds=4)
    assert item.exact
    assert item.build_seconds > item.import_seconds > 0
    assert list(item.timings) == [OURS, PEER, "LiteRT built-in"]
    assert {len(timing.seconds) for timing in item.timings.values()} == {4}


def test_networks_of_the_zoo_come_in_one_style_or_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zoo, "build", lambda name, style: f"{name}/{style}".encode())
    assert [name for name, _, _ in models(["mobilenet_v1"])] == [
        f"mobilenet_v1 {style}" for style in zoo.STYLES
    ]
    assert list(models(["resnet50:int8"])) == [("resnet50 int8", b"resnet50/int8", True)]


def test_what_is_neither_file_nor_network_is_an_error() -> None:
    with pytest.raises(QnnError, match="lenet is neither a file nor a network of the zoo"):
        list(models(["lenet"]))
    result = CliRunner().invoke(main, ["lenet"])
    assert result.exit_code == 1
    assert "neither a file" in result.stderr


def test_the_script_writes_both_files(model: Path, tmp_path: Path) -> None:
    arguments = [str(model), "--rounds", "3"]
    arguments += ["--markdown", str(tmp_path / "t.md"), "--json", str(tmp_path / "t.json")]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.output
    assert "small" in result.stdout
    assert "| small |" in (tmp_path / "t.md").read_text()
    assert json.loads((tmp_path / "t.json").read_text())["results"][0]["model"] == "small"
