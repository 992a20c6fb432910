import functools
import json
from pathlib import Path

import pytest

from benchmarks import bench_builds
from benchmarks.bench_builds import Builds, main, rows
from benchmarks.process import Built, build_model
from tests.support.commands import said
from tvm_qnn import digits


def test_a_row_has_medians_and_what_part_of_the_program_s_time_ours_is() -> None:
    single = tuple(Built(9.0, seconds) for seconds in (3.0, 1.0, 2.0))
    again = (Built(0.25, 0.5),)
    ours = Builds("m", "tvm-qnn", single, (Built(1.5, 9.0),), again, again)
    theirs = Builds("m", "openvino", (Built(9.0, 4.0),), (Built(3.0, 9.0),))
    absent = Builds("m", "onnxruntime", reason="no")
    assert rows([ours, theirs, absent], warm=True) == [
        ["tvm-qnn", "2.00", "1.50", "", "0.50", "0.25", ""],
        ["OpenVINO", "4.00", "3.00", "0.50 (goal 1.50)", "–", "–", "0.12 (goal 0.30)"],
    ]
    assert rows([theirs], warm=False) == [["OpenVINO", "4.00", "3.00", ""]]


def test_the_command_builds_in_fresh_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    orders: list[tuple[str, int, bool]] = []

    @functools.cache
    def build_once(peer: str, file: Path) -> Built:
        return build_model(peer, file, 1, tmp_path / "store")

    def build(peer: str, file: Path, threads: int, store: Path) -> Built:
        orders.append((peer, threads, any(store.iterdir())))
        (store / "kept").touch()
        return build_once(peer, file)

    monkeypatch.setattr(bench_builds, "build_model", build)
    model, output = tmp_path / "small.tflite", tmp_path / "out"
    model.write_bytes(digits.model("int8"))
    arguments = ["--repeat", "1", "--warm", "--peers", "tvm-qnn", "--peers", "litert"]
    said(main, [str(model), *arguments, "--output", str(output)])
    cold_and_warm = [("tvm-qnn", count, is_warm) for count in (1, 2) for is_warm in (False, True)]
    assert orders == [*cold_and_warm, ("litert", 1, False), ("litert", 2, False)]
    ours, theirs = json.loads((output / "builds.json").read_text())["builds"]
    for kind in ("single", "several", "warm_single", "warm_several"):
        (built,) = ours[kind]
        assert built["processor_seconds"] > 0
        assert built["seconds"] > 0
    assert len(theirs["single"]) == 1
    assert theirs["warm_single"] == []
    assert "| tvm-qnn |" in (output / "builds.md").read_text()
