import base64
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from frontends.summary import Description
from qnn_ops.dialect.tensor_info import TensorInfo
from qnn_ops.errors import QnnError
from tvm_qnn.cli.arguments import read_inputs
from tvm_qnn.io.preparation import Preparation
from tvm_qnn.serving import pictures
from tvm_qnn.serving.pictures import Pictures, takes_pictures

PIL = pytest.importorskip("PIL.Image")
INFO = TensorInfo("x", (1, 12, 10, 3), "int8", 0.5, 0)


def picture(kind: str = "PNG", size: tuple[int, int] = (40, 30)) -> bytes:
    values = np.random.default_rng(0).integers(0, 256, (size[1], size[0], 3), np.uint8)
    file = BytesIO()
    PIL.fromarray(values).save(file, kind)
    return file.getvalue()


def tensor(*files: Any, shape: tuple[int, ...] | None = None) -> Any:
    given = [len(files)] if shape is None else [*shape]
    return SimpleNamespace(name="x", datatype="BYTES", shape=given, data=[*files])


@pytest.mark.parametrize("kind", ["JPEG", "PNG"])
@pytest.mark.parametrize("preparation", [Preparation(), Preparation(crop=0.5, order="bgr")])
@pytest.mark.parametrize("dtype", ["uint8", "int8", "float32"])
def test_a_picture_is_prepared_as_run_does(
    kind: str, preparation: Preparation, dtype: str, tmp_path: Path
) -> None:
    info = TensorInfo("x", (1, 12, 10, 3), dtype)
    described = Description(mean=(10.0, 20.0, 30.0), std=(2.0,)) if dtype == "float32" else None
    content = picture(kind)
    path = tmp_path / f"picture.{kind.lower()}"
    path.write_bytes(content)
    expected = read_inputs([str(path)], [info], {0: described} if described else {}, preparation)
    reader = Pictures(preparation, {"x": described} if described else {})
    for file in (content, base64.b64encode(content).decode()):
        np.testing.assert_array_equal(reader.read(tensor(file), info), expected["x"])


def test_inputs_of_pictures_take_several() -> None:
    content, other = picture(), picture(size=(10, 12))
    found = Pictures().read(tensor(content, other, content, shape=(3, 1)), INFO)
    assert found.shape == (3, 12, 10, 3)
    np.testing.assert_array_equal(found[1:2], Pictures().read(tensor(other), INFO))
    np.testing.assert_array_equal(found[2], found[0])
    assert takes_pictures(INFO)
    assert takes_pictures(TensorInfo("x", (8, 3, 24, 24), "float32"))
    for shape, dtype in [((1, 49, 10, 2), "int8"), ((1, 8), "int8"), ((1, 8, 8, 1), "int64")]:
        assert not takes_pictures(TensorInfo("x", shape, dtype))
    with pytest.raises(QnnError, match="does not take one picture"):
        Pictures().read(tensor(picture()), TensorInfo("x", (1, 8), "int8"))


def test_what_is_no_picture_is_one_error(monkeypatch: pytest.MonkeyPatch) -> None:
    bitmap, cut = picture("BMP"), picture("JPEG")[:-200]
    for given, message in [
        (tensor(b"no picture"), "'x' takes pictures, but the bytes are no JPEG and no PNG"),
        (tensor(bitmap), "no JPEG and no PNG"),
        (tensor(cut), "cannot read the picture input 'x'"),
        (tensor("%"), "a picture in JSON is text in base64"),
        (tensor(7), "a picture in JSON is text in base64"),
        (tensor(picture(), shape=(2,)), r"has shape \[2\], but 1 pictures"),
        (tensor(shape=(0,)), "but 0 pictures"),
    ]:
        with pytest.raises(QnnError, match=message):
            Pictures().read(given, INFO)
    monkeypatch.setattr(pictures, "MOST_PIXELS", 1000)
    with pytest.raises(QnnError, match="at most 1,000 pixels, got 40×30"):
        Pictures().read(tensor(picture()), INFO)
