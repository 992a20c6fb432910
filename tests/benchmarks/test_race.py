import json
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import race as races
from benchmarks.bench_peers import main
from benchmarks.machine import setting
from benchmarks.models import inputs_of
from benchmarks.peers import OURS, PEERS
from benchmarks.process import (
    Compiled,
    Conditions,
    Loaded,
    PeerError,
    Running,
    compile_model,
    save_inputs,
)
from benchmarks.race import WITHOUT_AMX, Lane, Race, race, take_turns
from benchmarks.race_report import (
    LONGEST_REASON,
    Report,
    absent_lines,
    as_markdown,
    detail_rows,
    figures,
    summary_rows,
)
from benchmarks.worker import CLOCKS, time_runs
from tests.support.commands import said
from tests.support.linking import needs_linker
from tvm_qnn import digits, load
from tvm_qnn.target.processor import TILES

OUTPUT = [np.array([[3, 4]], np.int8)]


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "small.tflite"
    path.write_bytes(digits.model("int8"))
    return path


def _lane(name: str, *medians: float, uses_amx: bool = False) -> Lane:
    return Lane(name, "1.0", uses_amx, [[value] * 3 for value in medians], OUTPUT)


RACE = Race(
    "m",
    {
        OURS: _lane("tvm-qnn", 0.001, 0.002, 0.003),
        "litert": _lane("LiteRT, XNNPACK", 0.002, 0.008, 0.006, uses_amx=True),
        f"litert{WITHOUT_AMX}": _lane("LiteRT, XNNPACK (no AMX)", 0.1, 0.2, 0.3),
    },
    {"openvino": "not installed: openvino", "stock-tvm": "x" * 1000},
)


def test_a_ratio_is_taken_round_by_round() -> None:
    # 1/2, 2/8, 3/6: a round in which both are slow does not count for more.
    assert RACE.ratio("litert") == 0.5
    assert RACE.lanes["litert"].median == 0.006
    assert RACE.ratio(OURS) == 1.0
    assert Race("m", {"litert": _lane("x", 1.0, 1.0)}, {}).ratio("litert") is None


def test_programs_take_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(races, "TURN_SECONDS", 1e-3)
    calls: list[str] = []

    def program(name: str, seconds: float) -> Callable[[int, int], list[float]]:
        def time_runs(warmup: int, count: int) -> list[float]:
            calls.append(f"{name} {warmup}+{count}")
            return [seconds] * count

        return time_runs

    programs = {"a": program("a", 1e-4), "b": program("b", 5e-3), "slow": program("slow", 1.0)}
    turns = take_turns(programs, rounds=4, seconds=60)
    assert calls[:6] == ["a 1+2", "b 1+2", "slow 1+2", "a 2+10", "b 2+3", "slow 0+1"]
    assert calls[-2:] == ["a 2+10", "b 2+3"]
    assert {key: len(value) for key, value in turns.items()} == {"a": 4, "b": 4, "slow": 3}
    assert {len(value) for value in take_turns(programs, rounds=9, seconds=0).values()} == {3}


def test_the_tables() -> None:
    head, body = detail_rows(RACE)
    assert head == ["program", "ms", "quartiles", "ratio", "goal", "outputs differ by", "AMX"]
    assert body[0] == ["tvm-qnn", "2", "1.5–2.5", "1.00", "–", "–", "no"]
    assert body[1] == ["LiteRT, XNNPACK", "6", "4–7", "0.50", "–", "0", "yes"]
    assert body[2] == ["LiteRT, XNNPACK (no AMX)", "200", "150–250", "0.01", "–", "0", "no"]
    _, body = detail_rows(replace(RACE, model="a_network float32"))
    assert [row[4] for row in body] == ["–", "0.80", "–"]
    missing, long = absent_lines(RACE)
    assert missing == "OpenVINO is left out: not installed: openvino"
    assert len(long) < LONGEST_REASON + 60
    other = Race("n", {OURS: _lane("tvm-qnn", 0.5, 0.5)}, {})
    head, body = summary_rows(Report(setting(), 1, "wall", [RACE, other]))
    assert head == ["model", "tvm-qnn", "LiteRT, XNNPACK", "LiteRT, XNNPACK (no AMX)"]
    assert body == [["m", "2", "6 (0.50)", "200 (0.01)"], ["n", "500", "–", "–"]]


def test_files_say_on_what_it_was_measured() -> None:
    report = Report(setting(), 2, "cpu", [RACE])
    text = as_markdown(report)
    assert report.setting.processor in text
    assert "2 used" in text
    assert "processor's time" in text
    assert "OpenVINO is left out" in text
    fields = json.loads(figures(report))
    assert fields["races"][0]["lanes"]["litert"]["turns"][1] == [0.008] * 3
    assert fields["setting"]["versions"]["apache-tvm"]


def test_a_peer_that_is_not_installed_is_left_out(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(PEERS["litert"], "modules", ("no_such_module.at_all",))
    found = race(
        "small", model, [], ["litert"], tmp_path, Conditions(), rounds=3, seconds=0, say=str
    )
    assert found.absent == {"litert": "not installed: no_such_module.at_all"}
    assert not found.lanes


def test_without_amx_programs_are_compiled_without_it(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a processor that has AMX; a process of this one's could not tell."""
    compiled: dict[str, bool] = {}
    loaded: dict[str, bool] = {}

    def compile_model(_peer: str, _model: Path, folder: Path, *, without_amx: bool) -> Compiled:
        compiled[folder.name] = without_amx
        return Compiled(str(folder / "lib.so"), 0.0, 0.0, 0.0)

    class Process(nullcontext[Any]):
        def __init__(
            self, _peer: str, file: str, _inputs: Path, folder: Path, held: Conditions
        ) -> None:
            super().__init__(self)
            assert Path(file).parent == folder
            loaded[folder.name] = held.without_amx
            self.loaded = Loaded(0.0, 0.0, None, not held.without_amx, "1")

        def time(self, _warmup: int, count: int) -> list[float]:
            return [1.0] * count

        def outputs(self) -> list[np.ndarray]:
            return OUTPUT

    monkeypatch.setattr(races, "compile_model", compile_model)
    monkeypatch.setattr(races, "Running", Process)
    arguments = ("m", model, OUTPUT, [OURS], tmp_path, Conditions())
    found = race(*arguments, rounds=1, seconds=0, also_without_amx=True, say=str)
    assert compiled == loaded == {OURS: False, OURS + WITHOUT_AMX: True}
    assert found.lanes.keys() == compiled.keys()


@needs_linker
def test_what_is_compiled_without_amx_runs_without_it(model: Path, tmp_path: Path) -> None:
    file = Path(compile_model(OURS, model, tmp_path, without_amx=True).file)
    assert not {*load(file).metadata.requirements.extensions} & {*TILES}
    inputs = save_inputs(tmp_path, inputs_of(model.read_bytes()))
    with Running(OURS, str(file), inputs, tmp_path, Conditions(without_amx=True)) as one:
        assert not one.loaded.uses_amx


def test_a_peer_that_cannot_read_the_model_says_why(tmp_path: Path) -> None:
    path = tmp_path / "broken.tflite"
    path.write_bytes(b"no model")
    with pytest.raises(PeerError, match="not a TFLite"):
        compile_model(OURS, path, tmp_path)
    with pytest.raises(PeerError, match="Flatbuffer"):
        Running("litert", str(path), save_inputs(tmp_path, []), tmp_path, Conditions())


@needs_linker
def test_the_command_times_tvm_qnn_and_litert(model: Path, tmp_path: Path) -> None:
    output = tmp_path / "out"
    options = ["--rounds", "3", "--seconds", "0", "--amx", "without", "--output", str(output)]
    peers = ["--peers", OURS, "--peers", "litert"]
    said(main, [str(model), *options, *peers])
    lanes = json.loads((output / "peers.json").read_text())["races"][0]["lanes"]
    assert set(lanes) == {OURS, "litert"}
    assert all(0 < lane["median"] < 1 and not lane["uses_amx"] for lane in lanes.values())
    assert lanes["litert"]["output_difference"] <= 255
    assert "| small |" in (output / "peers.md").read_text()
    assert (output / "peers.png").read_bytes().startswith(b"\x89PNG")


def test_the_processors_time_is_not_that_of_others() -> None:
    seconds = time_runs(lambda: time.sleep(0.05), 0, 1, CLOCKS["cpu"])
    assert seconds[0] < 0.02
    assert time_runs(lambda: time.sleep(0.05), 1, 2, CLOCKS["wall"])[1] >= 0.05


def test_programs_that_do_not_read_a_format_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "small.onnx"
    found = race(
        "small",
        path,
        [],
        ["litert"],
        tmp_path,
        Conditions(1, without_amx=False, clock="wall"),
        rounds=1,
        seconds=0.0,
    )
    assert found.absent == {"litert": "it does not read .onnx files"}
