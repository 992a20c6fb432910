"""Open sizes of models that become C files."""

import warnings
from pathlib import Path

import pytest

from frontends.tflite import from_tflite
from qnn_ops.errors import QnnError
from tests.support.tflite import Sheet, x
from tvm_qnn.build import export_c
from tvm_qnn.standalone.sizes import LargestSizeWarning


def model() -> bytes:
    sheet = Sheet()
    flat = sheet.made("RESHAPE", x(2, 3, 4), [-1, 12])
    return sheet.add("ADD", flat, flat).model()


def test_c_code_takes_the_largest_sizes(tmp_path: Path) -> None:
    texts = []
    for folder, batch in (("open", range(1, 6)), ("fixed", 5)):
        mod, params = from_tflite(model(), {"x1": ("batch", 3, 4), "batch": batch})
        (tmp_path / folder).mkdir()
        path = tmp_path / folder / "model"
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            export_c(mod, "cortex-m4", params, path)
        told = [str(each.message) for each in found if each.category is LargestSizeWarning]
        is_open = folder == "open"
        assert told == ["C code takes the largest sizes: batch is 5"] * is_open
        texts.append({each.name: each.read_bytes() for each in path.parent.rglob("*.[ch]")})
    assert texts[0] == texts[1] != {}


def test_a_size_without_a_bound_is_one_error(tmp_path: Path) -> None:
    mod, params = from_tflite(model(), {"x1": ("batch", 3, 4)})
    with pytest.raises(QnnError, match=r"give shape_dict those of batch of input 'x1' \(1 or more"):
        export_c(mod, "cortex-m4", params, tmp_path / "model")
