from pathlib import Path

import pytest

from benchmarks.bench_threads import main, on_threads
from tests.support.commands import said
from tests.support.onnx_networks import Network, Style


@pytest.mark.parametrize(
    ("two", "barriers", "four"),
    [
        (0.5, 0, 0.25),  # all work is shared
        (1.0, 0, 1.0),  # nothing is
        (0.75, 0, 0.625),  # half
        (0.6, 10, 0.55),  # all, and the launches take 0.1 and 0.3
        (2.0, 10, 1.3),  # more than the launches explain: nothing is shared
    ],
)
def test_launches_and_what_is_not_shared_stay(two: float, barriers: int, four: float) -> None:
    assert on_threads(4, 1.0, two, barriers, 0.01) == pytest.approx(four)


def test_barriers_and_weights_are_counted(tmp_path: Path) -> None:
    words = ["hybrid_dense:64x512x1024", "--rounds", "1", "--seconds", "0.01"]
    said(main, [*words, "--output", str(tmp_path)])
    (*_, row) = (tmp_path / "threads.md").read_text().strip().splitlines()
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    name, _one, share, _two, ratio, barriers, weights, *_ = cells
    assert name == "hybrid_dense 64x512x1024"
    assert share.startswith("0.") or share == "–"
    assert ratio.endswith("(goal 0.55)")
    assert int(barriers) > 0
    assert float(weights) == pytest.approx(512 * 1024 / 1e6, abs=0.05)


def test_a_network_in_onnx_is_timed(tmp_path: Path) -> None:
    net = Network(Style("int8", "int8", per_channel=True, qdq=True), (1, 3, 6, 6), 0)
    model = tmp_path / "conv.onnx"
    model.write_bytes(net.model(net.conv(net.input, 4)).SerializeToString())
    said(main, [str(model), "--rounds", "1", "--seconds", "0.01", "--output", str(tmp_path)])
    assert (tmp_path / "threads.md").read_text().strip().splitlines()[-1].startswith("| conv |")
