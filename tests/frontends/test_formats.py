from pathlib import Path

import pytest

from frontends.formats import FOLDERS, format_of, formats, read_model
from frontends.mxnet.symbol import read_symbol
from frontends.tflite.reader import read_model as read_tflite
from qnn_ops.dialect.signature import signature_of
from qnn_ops.errors import QnnError
from tests.frontends.mxnet.files import symbol_json
from tests.support.errors import fails, giving
from tests.support.processes import printed
from tvm_qnn import digits

SYMBOL = symbol_json([{"op": "null", "name": "data"}]).encode()


class Block:
    def export(self, _path: str) -> None:
        """As a HybridBlock of MXNet has it."""


def test_every_format_is_whole() -> None:
    assert len(formats()) == len(FOLDERS) > 1
    suffixes = [suffix for one in formats() for suffix in one.suffixes]
    assert len(set(suffixes)) == len(suffixes)
    assert all(suffix == suffix.lower() and suffix[0] == "." for suffix in suffixes)


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("net.bin", digits.model("int8"), "TFLite"),
        ("net.json", digits.model("int8"), "TFLite"),
        ("net.tflite", SYMBOL, "MXNet"),
        ("net", SYMBOL, "MXNet"),
        # What is damaged or empty is told by the reader of the format that the name says.
        ("net.tflite", b"", "TFLite"),
        ("NET.TFLITE", b"?", "TFLite"),
        ("net-symbol.JSON", b"{}", "MXNet"),
    ],
)
def test_content_tells_more_than_the_name(
    name: str, content: bytes, expected: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(content)
    assert format_of(tmp_path / name).name == expected
    assert format_of(str(tmp_path / name)).name == expected


test_models_in_memory = giving(
    lambda model: format_of(model).name,
    (digits.model("int8"), "TFLite"),
    (bytearray(digits.model("int8")), "TFLite"),
    (read_tflite(digits.model("int8")), "TFLite"),
    (SYMBOL, "MXNet"),
    (read_symbol(SYMBOL), "MXNet"),
    (Block(), "MXNet"),
)


def test_what_is_no_model_is_told(tmp_path: Path) -> None:
    (tmp_path / "net.pt").touch()
    known = r"which are \.tflite for TFLite, \.json for MXNet, \.onnx for ONNX"
    fails(rf"net\.pt is no model of a known format, {known}", format_of, tmp_path / "net.pt")
    for model in (3, b"?"):
        fails(rf"an object of type {type(model).__name__} is no", format_of, model)
    fails(r"missing\.tflite", format_of, tmp_path / "missing.tflite", error=OSError)


def test_what_is_for_another_format_is_told(tmp_path: Path) -> None:
    model = digits.model("int8")
    with pytest.raises(QnnError, match="--params is for MXNet models: this one is of TFLite"):
        read_model(model, params="net-0000.params")
    (tmp_path / "net.onnx").touch()
    with pytest.raises(QnnError, match=r"--semantics is for TFLite and MXNet models: .* of ONNX"):
        read_model(tmp_path / "net.onnx", semantics="mxnet")
    with pytest.raises(QnnError, match="semantics must be one of litert, tflm, got 'mxnet'"):
        read_model(model, semantics="mxnet")


def test_every_source_is_converted_and_described() -> None:
    fixture = Path(__file__).parents[1] / "fixtures" / "mxnet_digits" / "digits-symbol.json"
    for model, shapes in ((digits.model("int8"), None), (fixture, {"data": (1, 1, 8, 8)})):
        source = read_model(model)
        summary = source.summary("digits", shapes)
        signature = signature_of(source.convert(shapes).mod)
        assert [info.shape for info in signature.inputs] == [note.shape for note in summary.inputs]
        assert summary.name == "digits"
        assert summary.macs > 0
        constants = source.constants()
        notes = {note.index: note for op in summary.operators for note in op.inputs}
        held = {index for index, note in notes.items() if note.is_constant}
        assert held <= constants.keys()
        assert all(notes[index].shape == constants[index].shape for index in held)


def test_formats_are_listed_without_tvm() -> None:
    code = "import sys, frontends.formats as f; f.formats(); print({'tvm_ffi'} & {*sys.modules})"
    assert printed(code).strip() == "set()"
