from pathlib import Path

from tests.support.errors import fails
from tvm_qnn import digits
from tvm_qnn.cli.model_files import check_tflite, is_tflite


def test_what_litert_reads(tmp_path: Path) -> None:
    model, symbol = tmp_path / "digits.bin", tmp_path / "net-symbol.json"
    model.write_bytes(digits.model("int8"))
    symbol.write_text("{}")
    assert is_tflite(model)
    check_tflite(model)
    assert not is_tflite(symbol)
    assert not is_tflite(tmp_path / "library.so")
    fails(r"is not a \.tflite file, which this command needs", check_tflite, symbol)
