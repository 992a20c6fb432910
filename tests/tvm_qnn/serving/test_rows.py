import numpy as np
import pytest

from frontends.tflite.quantization import Quantization
from qnn_ops.errors import QnnError
from tests.support.tflite import library_of, one, x
from tvm_qnn import digits
from tvm_qnn.library.library import Library
from tvm_qnn.serving.rows import independent_rows, run_rows

ROWS = 4


def compiled(operator: str) -> Library:
    """Return a model of four rows, or one that mixes its rows."""
    order = [[1, 0]] if operator == "TRANSPOSE" else []
    data = x(ROWS, 4, encoding=Quantization.per_tensor(0.5, 0))
    return library_of(one(operator, data, *order).model(), "host", num_threads=1)


@pytest.mark.parametrize("count", [1, ROWS, 2 * ROWS + 1])
def test_any_number_of_rows(count: int) -> None:
    library = compiled("RELU")
    assert independent_rows(library) == ROWS
    array = np.random.default_rng(count).integers(-128, 128, (count, 4)).astype(np.int8)
    np.testing.assert_array_equal(run_rows(library, ROWS, [array])["y2"], np.maximum(array, 0))


def test_models_without_a_batch_of_independent_rows_are_refused() -> None:
    with pytest.raises(QnnError, match="output 'y3' of one row changes with another row"):
        independent_rows(compiled("TRANSPOSE"))
    with pytest.raises(QnnError, match=r"of at least 2, got .*8×8.*: compile it for a batch"):
        independent_rows(library_of(digits.model("int8"), "host"))
