from __future__ import annotations

import numpy as np
import pytest
from click.testing import CliRunner

from benchmarks.bench_peers import main
from benchmarks.models import inputs_of, models
from qnn_ops.errors import QnnError
from tvm_qnn import digits, zoo


def test_networks_of_the_zoo_come_in_one_style_or_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zoo, "build", lambda name, style: f"{name}/{style}".encode())
    assert [name for name, _ in models(["mobilenet_v1"])] == [
        f"mobilenet_v1 {style}" for style in zoo.STYLES
    ]
    assert list(models(["resnet50:int8"])) == [("resnet50 int8", b"resnet50/int8")]


def test_what_is_neither_file_nor_network_is_an_error() -> None:
    with pytest.raises(QnnError, match="lenet is neither a file nor a network of the zoo"):
        models(["lenet"])
    result = CliRunner().invoke(main, ["lenet"])
    assert result.exit_code == 1
    assert "neither a file" in result.stderr


def test_inputs_fit_the_model() -> None:
    (array,) = inputs_of(digits.model("int8"))
    assert (array.shape, array.dtype) == ((1, 8, 8, 1), np.int8)
    assert len(np.unique(array)) > 32
