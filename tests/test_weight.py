"""Each folder has a budget of lines, so that growth is a decision."""

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

LINES = {
    "frontends": 1_400,
    "frontends/mxnet": 4_350,
    "frontends/onnx": 10_600,
    "frontends/tflite": 11_700,
    "frontends/torch": 3_200,
    "legalize": 1_350,
    "legalize/kernels": 26_350,
    "legalize/passes": 6_000,
    "legalize/primitives": 2_150,
    "legalize/qdq": 1_200,
    "qnn_ops": 10_600,
    "tests": 93_250,
    "tvm_qnn": 16_350,
    "tvm_qnn/cli": 3_550,
    "tvm_qnn/litert": 1_100,
    "tvm_qnn/onnxruntime": 1_950,
    "tvm_qnn/relay": 5_250,
    "tvm_qnn/standalone": 3_500,
    "tvm_qnn/zoo": 1_250,
}
"""The most lines of Python in each folder. Folders with an entry of their own count by themselves.

A change that needs more raises the number here, and its message says what the lines buy.
"""

SLACK = 150
"""The lines that a budget may be too large by. What gets shorter keeps its new length."""


def lines_of(folder: str) -> int:
    """Count the lines of a folder's files, without those that have a budget of their own."""
    count = 0
    for path in (ROOT / folder).rglob("*.py"):
        name = path.relative_to(ROOT).as_posix()
        owner = max((each for each in LINES if name.startswith(f"{each}/")), key=len)
        if owner == folder:
            count += path.read_bytes().count(b"\n")
    return count


@pytest.mark.parametrize("folder", LINES)
def test_a_folder_keeps_to_its_budget(folder: str) -> None:
    lines = lines_of(folder)
    assert lines <= LINES[folder], f"{folder} has {lines} lines: is there a shorter way?"
    assert lines >= LINES[folder] - SLACK, f"{folder} has {lines} lines: lower its budget"
