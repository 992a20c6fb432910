from pathlib import Path

from tests.support.errors import fails
from tvm_qnn.cli.histogram import save_histogram
from tvm_qnn.compare import Comparison, TensorComparison

FOUND = Comparison((TensorComparison(3, "y", "ADD", 100, 7, 2.0, {-2: 3, 1: 4}),))


def test_a_picture_is_drawn_where_it_can_be_written(tmp_path: Path) -> None:
    path = tmp_path / "histogram.png"
    save_histogram(path, FOUND, "model")
    assert path.read_bytes().startswith(b"\x89PNG")
    fails("cannot write", save_histogram, tmp_path / "nowhere" / "histogram.png", FOUND, "model")
