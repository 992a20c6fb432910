from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from tests.frontends.mxnet.files import array_list, dense, symbol_json
from tests.frontends.tflite.interface.test_signatures import two_models
from tests.frontends.tflite.test_notes import unary
from tests.support.commands import refused, said
from tests.support.linking import needs_linker
from tvm_qnn.cli import main


def write_convolution(folder: Path, bias: int, bias_range: float) -> Path:
    """An MXNet model of one convolution, whose int8 bias MXNet takes for steps of the sum."""
    constants: dict[str, np.ndarray] = {
        "weight": np.full((1, 1, 1, 1), 127, np.int8),
        "bias": np.array([bias], np.int8),
        "weight_low": np.array([-1], np.float32),
        "weight_high": np.array([1], np.float32),
        "bias_low": np.array([-bias_range], np.float32),
        "bias_high": np.array([bias_range], np.float32),
    }
    calibrated = {"out_type": "uint8", "min_calib_range": "0", "max_calib_range": "2"}
    convolution = {"kernel": "(1, 1)", "num_filter": "1"}
    inputs = [[7, 0, 0], [1, 0, 0], [2, 0, 0], [7, 1, 0], [7, 2, 0]]
    inputs += [[number, 0, 0] for number in range(3, 7)]
    nodes: list[Mapping[str, Any]] = [
        *({"op": "null", "name": name} for name in ("data", *constants)),
        {
            "op": "_contrib_quantize_v2",
            "name": "quantize",
            "attrs": calibrated,
            "inputs": [[0, 0, 0]],
        },
        {"op": "_contrib_quantized_conv", "name": "sums", "attrs": convolution, "inputs": inputs},
    ]
    symbol = folder / "net-symbol.json"
    symbol.write_text(symbol_json(nodes))
    arrays = [dense(array) for array in constants.values()]
    names = [f"arg:{name}" for name in constants]
    (folder / "net-0000.params").write_bytes(array_list(arrays, names))
    return symbol


@needs_linker
@pytest.mark.parametrize(
    ("given", "result"),
    [
        # The bias of 1 is 3 / 127.5 in reals; a step of the sum is 2 / 255.5 · 1 / 127.5.
        (["--semantics", "corrected"], 383),
        (["--semantics", "mxnet"], 1),
        ([], 1),
    ],
)
def test_semantics_decide_what_is_computed(
    given: list[str], result: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    symbol = write_convolution(tmp_path, bias=1, bias_range=3)
    np.save("zero.npy", np.zeros((1, 1, 1, 1), np.float32))
    model = [str(symbol), "--shape", "data=1,1,1,1", *given]
    runner = CliRunner()
    runs = [["run", *model, "-i", "zero.npy"], ["run", "net.so", "-i", "zero.npy"]]
    for arguments in (["compile", *model], *([*run, "-o", "out.npz"] for run in runs)):
        found = runner.invoke(main, arguments)
        assert found.exit_code == 0, found.output
        if arguments[0] == "run":
            with np.load("out.npz") as outputs:
                assert outputs[outputs.files[0]].tolist() == [[[[result]]]]


@pytest.mark.parametrize(
    "command",
    [
        *(["inspect"], ["inspect", "--ir"], ["compile", "-o", "bundle"]),
        *(["run"], ["bench"], ["profile"]),
    ],
)
def test_every_command_takes_semantics(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    # In steps of the sum, its correct unit, this bias is beyond int32.
    symbol = write_convolution(tmp_path, bias=127, bias_range=2e5)
    arguments = [*command, str(symbol), "--shape", "data=1,1,1,1", "--semantics", "corrected"]
    if command == ["run"]:
        np.save("zero.npy", np.zeros((1, 1, 1, 1), np.float32))
        arguments += ["-i", "zero.npy"]
    assert "bias included, can reach" in refused(main, arguments)


@pytest.mark.parametrize("command", ["inspect", "compile", "run", "bench", "profile"])
def test_semantics_of_another_format_are_refused(command: str, model: Path) -> None:
    arguments = [command, str(model), "--semantics", "mxnet"]
    if command == "run":
        arguments += ["-i", str(model)]
    if command == "compile":
        arguments += ["-o", "bundle"]  # files for C, which no linker makes
    text = refused(main, arguments)
    assert text.startswith("Error: semantics must be one of litert, tflm, got 'mxnet'")


def test_semantics_that_there_are_not_are_refused(tmp_path: Path, model: Path) -> None:
    path = tmp_path / "net.so"
    path.touch()
    text = refused(main, ["bench", str(path), "--semantics", "corrected"], code=2)
    assert "are for model files" in text
    text = refused(main, ["compile", str(model), "--semantics", "tvm"], code=2)
    assert "'litert', 'tflm', 'mxnet', 'corrected'" in text


@pytest.mark.parametrize("option", ["--semantics", "--reference"])
def test_a_tflite_model_gives_what_tflm_gives(option: str, tmp_path: Path) -> None:
    path = tmp_path / "gelu.tflite"
    path.write_bytes(unary("GELU", "int8"))
    text = refused(main, ["inspect", str(path), option, "tflm", "--ir"])
    assert "what TFLM computes for it is not computed here" in text
    path.write_bytes(unary("TANH", "int8"))
    said(main, ["inspect", str(path), option, "tflm"])


@pytest.fixture
def two(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "two.tflite").write_bytes(two_models())
    return "two.tflite"


def test_a_signature_is_what_commands_take(two: str) -> None:
    for command, words, told in (
        ("inspect", [], "LOGISTIC"),
        ("compare", ["--primitives"], "1 of 1 tensors"),
        ("report", ["--target", "cortex-m4"], "LOGISTIC"),
    ):
        assert told in said(main, [command, two, "--signature", "decode", *words])


def test_inspect_lists_all_signatures(two: str) -> None:
    said = CliRunner().invoke(main, ["inspect", two]).stdout
    assert "signature prefill  x int8  4×8  → h int8  4×8\n" in said
    assert "signature decode  x int8  1×8  → y int8  1×8\n" in said


def test_signatures_that_there_are_not(two: str, model: Path, tmp_path: Path) -> None:
    (tmp_path / "lib.so").touch()
    np.save(tmp_path / "x.npy", np.zeros(1))
    for words, message in (
        (["inspect", two, "--signature", "encode"], "it has 'prefill', 'decode'"),
        (["inspect", str(model), "--signature", "x"], "no signature 'x'"),
        (["run", "lib.so", "--signature", "x", "-i", "x.npy"], "are for model files"),
    ):
        result = CliRunner().invoke(main, words)
        assert result.exit_code != 0
        assert message in result.stderr
