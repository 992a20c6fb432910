import csv
import json
import math
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from qnn_ops.errors import QnnError
from tests.support.commands import refused, said
from tests.support.linking import needs_linker
from tests.support.rpc import rpc_process
from tvm_qnn import oracle, timing
from tvm_qnn.cli import main
from tvm_qnn.cli.commands.bench import chrome_trace
from tvm_qnn.throughput import litert, open_vino, rates


def test_both_programs_are_timed(model: Path) -> None:
    text = said(main, ["bench", str(model), "--rounds", "3"])
    assert "tvm-qnn" in text
    assert "LiteRT" in text


def test_runs_are_written_as_csv_and_as_a_trace(model: Path) -> None:
    options = ["--rounds", "3", "--csv", "runs.csv", "--trace", "runs.json", "--json"]
    found = json.loads(said(main, ["bench", str(model), *options]))
    head, *rows = csv.reader(Path("runs.csv").read_text().splitlines())
    assert head == ["program", "run", "seconds"]
    events = json.loads(Path("runs.json").read_text())["traceEvents"]
    for name in ("tvm-qnn", "LiteRT (XNNPACK)"):
        seconds = [float(row[2]) for row in rows if row[0] == name]
        assert len(seconds) == 3
        assert max(seconds) == found[name]["maximum_seconds"] == found[name]["p99_seconds"]
        assert sorted(seconds)[1] == found[name]["median_seconds"]
        spans = [each["dur"] for each in events if each["ph"] == "X" and each["name"] == name]
        assert spans == pytest.approx([1e6 * each for each in seconds])


@pytest.mark.parametrize("quiet", [True, False])
def test_a_machine_that_is_not_quiet_is_told(
    model: Path, monkeypatch: pytest.MonkeyPatch, recwarn: pytest.WarningsRecorder, quiet: bool
) -> None:
    monkeypatch.setattr(timing, "QUIET", 1e9 if quiet else 0.5)
    result = CliRunner().invoke(main, ["bench", str(model), "--rounds", "3", "--json"])
    told = [each for each in recwarn if "the machine was not quiet" in str(each.message)]
    assert len(told) == (0 if quiet else 2)
    assert all("with more rounds" in str(each.message) for each in told)
    assert json.loads(result.stdout)["tvm-qnn"]["is_quiet"] is quiet


@pytest.mark.parametrize("option", [["--trace", "a.json"], ["--memory"]])
def test_traces_and_memory_are_of_single_runs(model: Path, option: list[str]) -> None:
    text = refused(main, ["bench", str(model), "--streams", "2", *option], code=2)
    assert "--trace and --memory are of single runs" in text


@needs_linker
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells it")
def test_memory_is_told(model: Path) -> None:
    line = ["bench", str(model), "--rounds", "2", "--memory"]
    figures = json.loads(CliRunner().invoke(main, [*line, "--json"]).stdout)
    assert 10_000 < figures["tvm-qnn"]["memory_bytes"] < 20e6
    assert "memory_bytes" not in figures["LiteRT (XNNPACK)"]
    found = re.search(r"takes ([\d.]+) MB for it\.", CliRunner().invoke(main, line).stdout)
    assert found
    assert 0.01 < float(found[1]) < 20


def test_without_litert_the_reason_is_told(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(*_arguments: object, **_options: object) -> None:
        raise QnnError("ai-edge-litert is not installed")

    monkeypatch.setattr(oracle, "LiteRtSession", absent)
    arguments = ["bench", str(model), "--rounds", "3", "--threads", "2", "--json"]
    found = json.loads(said(main, arguments))
    assert found["LiteRT (XNNPACK)"] == {"absent": "ai-edge-litert is not installed"}
    assert 0 < found["tvm-qnn"]["minimum_seconds"] <= found["tvm-qnn"]["median_seconds"]
    result = CliRunner().invoke(main, ["bench", str(model), "--rounds", "1"])
    assert result.exit_code == 0, result.output
    assert "1 runs of each" in result.stdout
    assert result.stderr == "Without LiteRT (XNNPACK): ai-edge-litert is not installed\n"


@pytest.fixture
def short_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rates, "TURN_SECONDS", 0.02)


@pytest.mark.usefixtures("short_turns")
@pytest.mark.parametrize(("streams", "batch"), [(2, 1), (1, 3)])
def test_images_are_counted(model: Path, streams: int, batch: int) -> None:
    arguments = ["bench", str(model), "--rounds", "3", "--streams", str(streams), "--csv", "c.csv"]
    found = json.loads(said(main, [*arguments, "--batch", str(batch), "--json"]))
    ran = [name for name in found if "absent" not in found[name]]
    assert len(Path("c.csv").read_text().splitlines()) == 1 + 3 * len(ran)
    for name in ("tvm-qnn", "LiteRT (XNNPACK)"):
        assert 0 < found[name]["slowest_turn"] <= found[name]["images_per_second"]
        assert found[name]["images_per_second"] <= found[name]["fastest_turn"]
        assert (found[name]["streams"], found[name]["batch"]) == (streams, batch)
        assert found[name]["turns"] == 3


@pytest.mark.usefixtures("short_turns")
def test_counted_images_are_a_table(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(*_arguments: object, **_options: object) -> None:
        raise QnnError("it is not installed")

    monkeypatch.setattr(litert, "start_litert", absent)
    monkeypatch.setattr(open_vino, "start_open_vino", absent)
    result = CliRunner().invoke(main, ["bench", str(model), "--rounds", "1", "--streams", "2"])
    assert result.exit_code == 0, result.output
    assert "2 streams, 1 image a run, 3 turns of each" in result.stdout
    assert result.stderr == (
        "Without LiteRT (XNNPACK): it is not installed\n"
        "Without OpenVINO (THROUGHPUT): it is not installed\n"
    )


def test_streams_are_of_one_thread_and_batches_of_model_files(model: Path, tmp_path: Path) -> None:
    text = refused(main, ["bench", str(model), "--threads", "2", "--batch", "2"], code=2)
    assert "--threads are of one run" in text
    path = tmp_path / "model.so"
    path.write_bytes(b"")
    text = refused(main, ["bench", str(path), "--batch", "2"], code=2)
    assert "--batch is for model files" in text


@needs_linker
def test_runs_of_a_device_are_timed_there(model: Path, tmp_path: Path) -> None:
    with rpc_process("tvm.exec.rpc_server", tmp_path / "server.txt") as port:
        where = ["--device", f"127.0.0.1:{port}", "--rounds", "4"]
        written = said(main, ["bench", str(model), *where, "--json", "--csv", "r.csv"])
        text = CliRunner().invoke(main, ["bench", str(model), *where]).stdout
    found = json.loads(written)
    assert list(found) == ["tvm-qnn"]
    _, *rows = csv.reader(Path("r.csv").read_text().splitlines())
    assert max(float(row[2]) for row in rows) == found["tvm-qnn"]["maximum_seconds"] < 1
    assert len(rows) == found["tvm-qnn"]["runs"] == 4
    assert f"{model.name}, on the device, 4 runs" in text


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--device", "there"], "'there' is not of the form HOST:PORT"),
        (["--device", "there:1", "--streams", "2"], "are of runs on this machine, not of --device"),
        (["--device", "there:1", "--threads", "2"], "TVM_NUM_THREADS sets the threads"),
        (["--device", "127.0.0.1:9"], "cannot reach the RPC server at 127.0.0.1:9"),
        (["--target", "x86-avx2"], "--target is for --device"),
    ],
)
def test_what_a_device_does_not_do(model: Path, options: list[str], message: str) -> None:
    result = CliRunner().invoke(main, ["bench", str(model), *options])
    assert result.exit_code in (1, 2)
    assert message in " ".join(result.stderr.replace("│", " ").split())


def test_seconds_take_the_place_of_rounds_and_first_runs_are_told(model: Path) -> None:
    line = ["bench", str(model), "--seconds", "0.3", "--json"]
    found = json.loads(CliRunner().invoke(main, line).stdout)
    assert found["tvm-qnn"]["runs"] > 30
    assert sum(each["median_seconds"] * each["runs"] for each in found.values()) < 1
    line = ["bench", str(model), "--rounds", "1"]
    found = json.loads(CliRunner().invoke(main, [*line, "--json"]).stdout)["tvm-qnn"]
    assert found["first_run_seconds"] >= found["minimum_seconds"] > 0
    assert found["loading_seconds"] > 0
    said = CliRunner().invoke(main, line).stdout
    assert re.search(r"or the cache, took [\d.]+ ms, the first run [\d.]+ ms\.", said)


def test_inputs_are_read_from_files(model: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.zeros((1, 8, 8, 1), np.int8))
    line = ["bench", str(model), "--rounds", "1", "-i"]
    assert CliRunner().invoke(main, [*line, str(tmp_path / "x.npy")]).exit_code == 0
    np.save(tmp_path / "x.npy", np.zeros((1, 9, 8, 1), np.int8))
    assert "input 'input'" in refused(main, [*line, str(tmp_path / "x.npy")])
    result = CliRunner().invoke(main, [*line, str(tmp_path / "x.npy"), "--streams", "2"])
    assert "--input and --seconds are of single runs on this machine" in result.stderr


def test_a_trace_is_strict_json_of_a_row_for_each_name() -> None:
    text = chrome_trace("all", {"a": [(5.0, 0.5), (6.0, 0.25)], "b": iter([(5.5, 0.5)])})
    events = json.loads(text)["traceEvents"]
    names = {(each["tid"], each["args"]["name"]) for each in events if each["ph"] == "M"}
    assert names == {(0, "all"), (1, "a"), (2, "b")}
    spans = [(each["tid"], each["ts"], each["dur"]) for each in events if each["ph"] == "X"]
    assert spans == [(1, 0, 5e5), (1, 1e6, 2.5e5), (2, 5e5, 5e5)]

    def refuse(name: str) -> None:
        raise AssertionError(name)

    text = chrome_trace("all", {"a": [(0.0, math.nan)], "b": []})
    found = json.loads(text, parse_constant=refuse)
    assert found["traceEvents"][2]["dur"] is None
