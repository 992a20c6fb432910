from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from qnn_ops.dialect.tensor_info import TensorInfo
from qnn_ops.errors import QnnError
from tests.support.errors import failing
from tvm_qnn.cli.arguments import read_inputs
from tvm_qnn.io.preparation import Preparation

PICTURE = TensorInfo("picture", (1, 4, 6, 3), "uint8", 0.5, 10)
VECTOR = TensorInfo("vector", (1, 3), "int8", 0.5, -1)


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Image.new("RGB", (12, 8), (1, 2, 3)).save("red.png")
    np.save("vector.npy", np.array([[1, 2, 3]], np.int8))
    np.save("row.npy", np.array([1, 2, 3], np.int8))
    np.save("real.npy", np.array([[0.5, -1.0, 100.0]]))
    np.save("wide.npy", np.zeros((1, 4), np.int8))
    np.save("long.npy", np.zeros((1, 3), np.int64))
    Path("broken.npy").write_bytes(b"no array")
    Path("broken.npz").write_bytes(b"no archive")
    Path("text.png").write_text("no picture")


def test_a_picture_is_scaled_and_prepared_as_options_say() -> None:
    array = read_inputs(["red.png"], [PICTURE])["picture"]
    assert array.shape == (1, 4, 6, 3)
    assert array[0, 2, 3].tolist() == [1, 2, 3]
    pixels = np.zeros((8, 12, 3), np.uint8)
    pixels[:, 6:] = (1, 2, 3)
    Image.fromarray(pixels).save("halves.png")
    prepared = Preparation(crop=0.5, order="bgr")
    array = read_inputs(["halves.png"], [PICTURE], preparation=prepared)["picture"]
    assert array[0, 2].tolist() == [[0, 0, 0]] * 3 + [[3, 2, 1]] * 3
    with pytest.raises(QnnError, match="resize 5 is too small: the input takes 4 × 6 pixels"):
        read_inputs(["halves.png"], [PICTURE], preparation=Preparation(resize=5))
    with pytest.raises(QnnError, match=r"text\.png is not a picture"):
        read_inputs(["text.png"], [PICTURE])


@pytest.mark.parametrize("texts", [["red.png", "vector.npy"], ["vector=vector.npy", "red.png"]])
def test_several_inputs_by_order_or_name(texts: list[str]) -> None:
    if texts[0].startswith("vector="):
        texts = [texts[0], f"picture={texts[1]}"]
    arrays = read_inputs(texts, [PICTURE, VECTOR])
    assert arrays["vector"].tolist() == [[1, 2, 3]]
    assert arrays["picture"].dtype == np.uint8


def test_arrays_are_fitted_to_the_input() -> None:
    np.savez("all.npz", vector=np.ones((1, 3), np.int8))
    assert read_inputs(["all.npz"], [VECTOR])["vector"].tolist() == [[1, 1, 1]]
    assert read_inputs(["row.npy"], [VECTOR])["vector"].shape == (1, 3)
    # 0.5 / 0.5 - 1, -1 / 0.5 - 1, and far beyond the largest.
    assert read_inputs(["real.npy"], [VECTOR])["vector"].tolist() == [[0, -3, 127]]
    real = TensorInfo("vector", (1, 3), "float32")
    assert read_inputs(["real.npy"], [real])["vector"].dtype == np.float32


test_what_does_not_fit_is_named = failing(
    lambda texts: read_inputs(texts, [VECTOR]),
    ([], "missing input 'vector'"),
    (["none.npy"], r"there is no file none\.npy"),
    (["broken.npy"], r"broken\.npy is no \.npy or \.npz file"),
    (["broken.npz"], r"broken\.npz is no \.npy or \.npz file"),
    (["wide.npy"], r"'vector' has shape \(1, 3\), got \(1, 4\)"),
    (["long.npy"], "takes int8, got int64"),
    (["other=vector.npy"], "no input is named 'other'; there are vector"),
    (["vector.npy", "row.npy"], "the model has 1 inputs, got 2 files"),
    (["vector=row.npy", "vector=vector.npy"], "'vector' is given twice"),
)
