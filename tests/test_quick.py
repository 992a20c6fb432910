import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def files() -> list[str]:
    """Return the files and folders that `make quick` names."""
    if shutil.which("make") is None:
        pytest.skip("there is no make")
    line = ["make", "--dry-run", "--silent", "quick"]
    done = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, check=True)
    return re.findall(r"\btests/\S+", done.stdout)


def test_what_quick_runs_is_there(files: list[str]) -> None:
    assert [name for name in files if not (ROOT / name).exists()] == []


def test_quick_runs_tests_of_every_package_and_format(files: list[str]) -> None:
    formats = (f"frontends/{name}" for name in ("tflite", "onnx", "torch", "mxnet"))
    for part in ("qnn_ops", "legalize", "tvm_qnn", *formats):
        assert any(name.startswith(f"tests/{part}/") for name in files), part
