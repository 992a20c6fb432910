import os
import subprocess
import sys
from pathlib import Path

import pytest

from tvm_qnn import digits

ROOT = Path(__file__).resolve().parents[3]
ASCII = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
COMMAND = [sys.executable, "-m", "tvm_qnn"]


def _run(*arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
    line = [*COMMAND, *arguments]
    settings = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
    return subprocess.run(line, cwd=ROOT, text=True, check=False, timeout=60, **settings)  # type: ignore[call-overload]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("model") / "ziffern_ä.tflite"
    path.write_bytes(digits.model("int8"))
    return str(path)


def test_a_terminal_of_ascii_gets_what_is_nearest(model: str) -> None:
    result = _run("inspect", model, env=ASCII, encoding="ascii")
    assert (result.returncode, result.stderr) == (0, "")
    assert "int8  1x8x8x1" in result.stdout
    assert r"ziffern_\udcc3\udca4.tflite" in result.stdout
    assert "+-----" in result.stdout


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
@pytest.mark.parametrize("arguments", [["--help"], ["inspect", ""]])
def test_an_output_that_takes_nothing_is_one_error(model: str, arguments: list[str]) -> None:
    with Path("/dev/full").open("w") as full:
        result = _run(*[argument or model for argument in arguments], stdout=full)
    assert result.returncode == 1
    assert result.stderr == "Error: cannot write the output: No space left on device\n"


def test_whoever_stops_reading_hears_nothing(model: str) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        result = _run("inspect", model, stdout=writer)
    finally:
        os.close(writer)
    assert (result.returncode, result.stderr) == (1, "")
