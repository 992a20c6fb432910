from __future__ import annotations

from pathlib import Path

import pytest

from qnn_ops.errors import QnnError
from qnn_ops.signature import signature_of
from tvm_qnn import digits
from tvm_qnn.model_files import import_model, params_beside


def test_a_tflite_file(tmp_path: Path) -> None:
    path = tmp_path / "digits.tflite"
    path.write_bytes(digits.model("int8"))
    mod, params = import_model(path)
    assert params
    (info,) = signature_of(mod).inputs
    batch, _ = import_model(path, shapes={info.name: (3, *info.shape[1:])})
    assert signature_of(batch).inputs[0].shape[0] == 3
    with pytest.raises(QnnError, match="--params is for MXNet models"):
        import_model(path, params=path)
    with pytest.raises(QnnError, match="--semantics is for MXNet models"):
        import_model(path, semantics="mxnet")


def test_the_newest_parameters_beside_a_symbol(tmp_path: Path) -> None:
    symbol = tmp_path / "net-symbol.json"
    symbol.touch()
    with pytest.raises(QnnError, match=r"there is no net-0000\.params beside"):
        params_beside(symbol)
    for name in ("net-0000.params", "net-0007.params", "net-best.params", "other-0009.params"):
        (tmp_path / name).touch()
    assert params_beside(symbol).name == "net-0007.params"


def test_other_endings_are_refused(tmp_path: Path) -> None:
    with pytest.raises(QnnError, match=r"must end in \.tflite, or \.json for MXNet"):
        import_model(tmp_path / "net.onnx")
