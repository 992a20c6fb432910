"""Custom operators whose rules a user gives."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from tvm import relax
from tvm.relax import op as R

import tvm_qnn as qnn
from frontends.errors import UnsupportedOperatorError
from frontends.onnx.read.names import CUSTOM
from frontends.tflite.custom import CustomCall, custom
from frontends.tflite.operators import OPERATORS
from frontends.tflite.options.custom import RAW
from frontends.tflite.quantization import Quantization
from frontends.tflite.reader import read_model
from frontends.tflite.writer import ModelWriter
from qnn_ops import QnnError, dequantize, quantize
from tests.support.snippets import run_command, run_python

IN, OUT = Quantization.per_tensor(0.05, 3), Quantization.per_tensor(0.1, -4)


@pytest.fixture(autouse=True)
def _rules_of_this_test() -> Iterator[None]:
    before = dict(OPERATORS), set(RAW)
    yield
    OPERATORS.clear()
    OPERATORS.update(before[0])
    RAW.clear()
    RAW.update(before[1])


def model(folder: Path, results: int = 1, **options: Any) -> Path:
    """Write a model of one operator, SoftShrink."""
    writer = ModelWriter()
    data = writer.tensor("x", (2, 8), "int8", IN)
    made = [writer.tensor(f"y{index}", (2, 8), "int8", OUT) for index in range(results)]
    writer.operator("CUSTOM:SoftShrink", [data], made, **options)
    path = folder / "model.tflite"
    path.write_bytes(writer.finish([data], made))
    return path


def soft_shrink(call: CustomCall) -> Any:
    """Shrink by the option ``lambd``, in float32 between the tensors' scales."""
    (data,) = call.inputs
    scale, zero_point = data.quantization
    real = dequantize(data.expr, scale, zero_point)
    bound = relax.const(np.float32(call.settings()["lambd"]))
    shrunk = R.multiply(R.sign(real), R.nn.relu(R.subtract(R.abs(real), bound)))
    return quantize(shrunk, *call.quantization(), call.outputs[0].dtype)


def test_a_file_is_read_with_its_rules(tmp_path: Path) -> None:
    graph = read_model(model(tmp_path, lambd=0.5))
    custom("SoftShrink")(soft_shrink)
    with pytest.raises(QnnError, match=r"SoftShrink.*: its file was read before its rule"):
        qnn.from_tflite(graph)


def test_a_rule_gets_tensors_and_options(tmp_path: Path) -> None:
    custom("SoftShrink")(soft_shrink)
    mod, params = qnn.from_tflite(model(tmp_path, lambd=0.5))
    x = np.arange(-64, 64, 8, dtype=np.int8).reshape(2, 8)
    y = qnn.build(mod, "host", params).run(x)
    real = (x.astype(np.float32) - 3) * np.float32(0.05)
    shrunk = np.sign(real) * np.maximum(np.abs(real) - np.float32(0.5), 0)
    steps = shrunk / np.float32(0.1)
    rounded = np.trunc(steps + np.copysign(np.float32(0.5), steps))  # halves away from zero
    expected = np.clip(rounded - 4, -128, 127)
    np.testing.assert_array_equal(y, expected)


def test_rules_that_fail_are_errors(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedOperatorError, match=r"CUSTOM:SoftShrink.*no operator of LiteRT"):
        qnn.from_tflite(model(tmp_path))
    custom("SoftShrink")(soft_shrink)
    with pytest.raises(QnnError, match=r"CUSTOM:SoftShrink .*gives 1 tensors, the file lists 2"):
        qnn.from_tflite(model(tmp_path, 2, lambd=0.5))

    @custom("SoftShrink")
    def refuse(call: CustomCall) -> Any:
        raise ValueError(f"cannot take {len(call.options)} bytes")

    with pytest.raises(QnnError, match=r"operator 0 CUSTOM:SoftShrink .*cannot take \d+ bytes"):
        qnn.from_tflite(model(tmp_path, lambd=0.5))


@pytest.mark.parametrize("options", [b"\xff" * 9, b"\x01\x04\x01"])
def test_options_that_are_no_map_are_an_error(options: bytes) -> None:
    with pytest.raises(QnnError, match="no flexbuffers map"):
        CustomCall((), (), options).settings()


def test_own_operators_keep_their_rules_and_options_may_be_none() -> None:
    assert CustomCall((), (), b"").settings() == {}
    with pytest.raises(QnnError, match="imports 'TFLite_Detection_PostProcess' itself"):
        custom("TFLite_Detection_PostProcess")


def test_the_guide_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    model(tmp_path, lambd=0.5)
    made = onnx.parser.parse_model(
        '<ir_version: 9, opset_import: ["" : 19, "my.domain" : 1]>'
        "agraph (float[2, 8] x) => (float[2, 8] y) "
        "{ y = my.domain.SoftShrink <lambd: float = 0.5> (x) }"
    )
    onnx.save(made, "custom.onnx")
    monkeypatch.setitem(CUSTOM, ("my.domain", "SoftShrink"), "")  # the guide gives a rule
    names: dict[str, Any] = {}
    page, mods = [], []
    for snippet in run_python("docs/guides/custom_operators.md", names):
        page.append(snippet.text)
        mods.append(names["mod"])
    x = np.linspace(-2, 2, 16, dtype=np.float32).reshape(2, 8)
    for mod in mods[1:]:
        y = qnn.build(mod, "host").run(x)
        np.testing.assert_array_equal(y, np.sign(x) * np.maximum(np.abs(x) - np.float32(0.5), 0))
    z = names["library"].run(np.full((2, 8), 43, np.int8))
    assert (z == 11).all()
    Path("soft_shrink.py").write_text(page[0].partition("\nmod, ")[0])
    run_command("tvm-qnn --rules soft_shrink.py compile model.tflite")
    assert (qnn.load("model.so").run(np.full((2, 8), 43, np.int8)) == 11).all()
