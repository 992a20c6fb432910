import io
import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from qnn_ops.errors import QnnError
from tvm_qnn import digits
from tvm_qnn.compare import Comparison, TensorComparison
from tvm_qnn.demo.inception import Checked, show_inception, show_own_model
from tvm_qnn.demo.report import print_checked
from tvm_qnn.io.terminal import Terminal
from tvm_qnn.timing import LITERT, OURS, Timing


@pytest.fixture
def text() -> io.StringIO:
    return io.StringIO()


@pytest.fixture
def console(text: io.StringIO) -> Terminal:
    return Terminal(file=text, width=100)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "digits.tflite"
    path.write_bytes(digits.model("int8"))
    return path


@pytest.mark.slow
def test_a_network_of_the_zoo_is_checked_and_timed(text: io.StringIO, console: Terminal) -> None:
    checked = show_inception(console, "mobilenet_v1", tiny=True)
    assert checked.comparison.is_equal
    count = len(checked.comparison.tensors)
    assert count > 25
    printed = " ".join(text.getvalue().split())
    assert f"{count} of {count} tensors" in printed
    assert "with operators fused: 1 of 1 outputs" in printed
    assert "not trained" in printed
    assert set(checked.timings) == {OURS, LITERT}


def test_an_own_model_gets_the_picture_and_names_the_classes(
    text: io.StringIO, console: Terminal, model: Path, tmp_path: Path
) -> None:
    pictures, labels = digits.held_out()
    # The model's own steps: 0 is paper and 16 is ink, so the file is nearly black.
    Image.fromarray(pictures[7]).save(tmp_path / "picture.png")
    names = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
    (tmp_path / "labels.txt").write_text("\n".join(["background", *names]))
    checked = show_own_model(console, model, tmp_path / "picture.png", tmp_path / "labels.txt")
    assert checked.comparison.is_equal
    top_five = text.getvalue().split("Top 5")[1]
    assert re.findall("[a-z]{3,}", top_five.split("score")[1])[0] == names[labels[7]]


def test_an_own_model_may_get_noise(text: io.StringIO, console: Terminal, model: Path) -> None:
    checked = show_own_model(console, model)
    assert checked.comparison.is_equal
    assert "Top 5" not in text.getvalue()


def test_files_that_do_not_fit_are_told_before_anything_slow(
    text: io.StringIO, console: Terminal, model: Path, tmp_path: Path
) -> None:
    (tmp_path / "labels.txt").write_text("one\ntwo\n")
    with pytest.raises(QnnError, match="names 2 classes, but the model has 10"):
        show_own_model(console, model, None, tmp_path / "labels.txt")
    with pytest.raises(QnnError, match="is not a picture"):
        show_own_model(console, model, tmp_path / "labels.txt")
    assert "Compile" not in text.getvalue()


def test_what_differs_is_said(text: io.StringIO, console: Terminal) -> None:
    tensors = (
        TensorComparison(3, "conv", "CONV_2D", 1000, 0, 0.0),
        TensorComparison(4, "pool", "MAX_POOL_2D", 500, 7, 2.0),
    )
    timings = {OURS: Timing((0.004, 0.002, 0.003)), LITERT: Timing((0.0015,) * 3)}
    found = Comparison(tensors, outputs=(TensorComparison(4, "fused", "MAX_POOL_2D", 9, 3, 1.0),))
    print_checked(console, Checked([np.zeros(1, np.int8)], found, timings))
    printed = " ".join(text.getvalue().split())
    assert "1 of 2 tensors, 1,493 of 1,500 elements" in printed
    assert "│ pool │ MAX_POOL_2D │ 500 │ 7 │ 2 │" in printed
    assert "When built for use, with operators fused: 0 of 1 outputs." in printed
    assert "│ fused │ MAX_POOL_2D │ 9 │ 3 │ 1 │" in printed
    assert "│ tvm-qnn │ 3 │ 2 │ 4 │" in printed
    assert "LiteRT is 2.00 times as fast as tvm-qnn." in printed


def test_times_are_told_and_a_busy_machine_warned_of(text: io.StringIO, console: Terminal) -> None:
    timings = {OURS: Timing((0.002,)), LITERT: Timing((0.003,))}
    print_checked(console, Checked([], Comparison(()), timings))
    assert "tvm-qnn is 1.50 times as fast as LiteRT." in text.getvalue()
    assert "not LiteRT's" not in text.getvalue()
    timings = {OURS: Timing((0.002,) * 3), LITERT: Timing((0.002, 0.003, 0.004))}
    with pytest.warns(UserWarning, match="not quiet: the median run of LiteRT") as told:
        print_checked(console, Checked([], Comparison(()), timings))
    assert len(told) == 1
