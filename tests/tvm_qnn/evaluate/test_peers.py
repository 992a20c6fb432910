from pathlib import Path

import numpy as np
import pytest

from frontends.tflite.quantization import Quantization
from tests.support.tflite import one, x
from tvm_qnn import digits
from tvm_qnn.evaluate.peers import described, peer_of
from tvm_qnn.oracle import litert_tensors


def test_a_tflite_model_runs_on_the_reference_kernels(tmp_path: Path) -> None:
    path = tmp_path / "d.tflite"
    path.write_bytes(digits.model("int8"))
    picture = digits.to_input(digits.held_out()[0][:1], "int8")
    peer = peer_of(path, is_other=False)
    assert peer is not None
    assert peer.title == "LiteRT's reference kernels"
    (found,) = peer.start().run([picture])
    expected = litert_tensors(path.read_bytes(), [picture])
    assert np.array_equal(found, expected[max(expected)])


@pytest.mark.parametrize(("dtype", "scale"), [("float32", None), ("int8", 0.5)])
def test_other_models_are_described_too(tmp_path: Path, dtype: str, scale: float | None) -> None:
    encoding = None if scale is None else Quantization.per_tensor(scale, 3)
    path = tmp_path / "r.tflite"
    path.write_bytes(
        one(
            "RELU", x(1, 4, dtype=dtype, encoding=encoding), gives=((1, 4), dtype, encoding)
        ).model()
    )
    peer = peer_of(path, is_other=True)
    assert peer is not None
    assert peer.title == "r.tflite on LiteRT's reference kernels"
    (given,), (result,), _ = described(path, peer.start())
    assert (given.shape, given.dtype, given.scale) == ((1, 4), dtype, scale)
    assert (result.shape, result.dtype, result.scale) == ((1, 4), dtype, scale)


def test_mxnet_models_have_no_peer() -> None:
    fixtures = Path(__file__).parents[2] / "fixtures" / "mxnet_digits"
    assert peer_of(fixtures / "digits-symbol.json", is_other=False) is None
