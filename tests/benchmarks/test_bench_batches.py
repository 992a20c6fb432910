from pathlib import Path

import pytest

from tests.support.commands import said
from tvm_qnn import digits

pytest.importorskip("openvino", reason="openvino is not installed")

from benchmarks.bench_batches import main


@pytest.mark.parametrize(("batch", "goal"), [(8, "(goal 0.60)"), (2, "")])
def test_pictures_are_timed_beside_open_vino(batch: int, goal: str, tmp_path: Path) -> None:
    model = tmp_path / "digits.tflite"
    model.write_bytes(digits.model("int8"))
    words = [str(model), "--batch", str(batch), "--rounds", "1", "--output", str(tmp_path)]
    said(main, words)
    rows = (tmp_path / "batches.md").read_text("utf-8").strip().splitlines()[-2:]
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
    assert [row[:2] for row in cells] == [["digits", "1"], ["digits", "2"]]
    for _name, _cores, ours, theirs, ratio in cells:
        assert float(ours) > 0
        assert float(theirs) > 0
        assert ratio.partition(" ")[2] == goal
