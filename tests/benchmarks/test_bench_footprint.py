import json
from pathlib import Path

from benchmarks.bench_footprint import Footprint, absent_lines, main, rows
from benchmarks.process import Compiled, Loaded
from tests.support.commands import said
from tests.support.linking import needs_linker
from tvm_qnn import digits

COMPILED = Compiled("f", 0.25, 12.34, 31.4)


def test_a_row_has_medians_and_no_building_where_nothing_is_built() -> None:
    loads = tuple(Loaded(0.5, first, 100.0 + first, False, "1") for first in (3.0, 1.0, 2.0))
    again = Compiled("f", 0.25, 2.5, 31.4)
    built = Footprint("m", "tvm-qnn", COMPILED, again, True, loads)
    read = Footprint("m", "litert", COMPILED, None, False, loads[:1])
    failed = Footprint("m", "openvino", reason="not installed: openvino")
    assert rows([built, read, failed]) == [
        ["tvm-qnn", "0.25", "12.3", "2.5", "31.4", "0.5", "2.0", "102"],
        ["LiteRT, XNNPACK", "–", "–", "–", "31.4", "0.5", "3.0", "103"],
    ]
    assert absent_lines([built, failed]) == ["OpenVINO is left out: not installed: openvino"]


@needs_linker
def test_the_command_measures_fresh_processes(tmp_path: Path) -> None:
    model, output = tmp_path / "small.tflite", tmp_path / "out"
    model.write_bytes(digits.model("int8"))
    arguments = ["--repeat", "1", "--peers", "tvm-qnn", "--peers", "litert"]
    said(main, [str(model), *arguments, "--output", str(output)])
    ours, theirs = json.loads((output / "footprint.json").read_text())["footprints"]
    assert ours["compiled"]["seconds"] > 0
    assert ours["again"]["seconds"] > 0
    assert ours["makes_file"]
    assert theirs["again"] is None
    assert not theirs["makes_file"]
    assert theirs["compiled"]["megabytes"] == model.stat().st_size / 1e6
    # A process with Python and numpy in it; not the many hundreds of this one.
    assert 10 < theirs["loads"][0]["peak_megabytes"] < 300
    assert "| tvm-qnn |" in (output / "footprint.md").read_text()
    assert (output / "footprint_memory.png").read_bytes().startswith(b"\x89PNG")
