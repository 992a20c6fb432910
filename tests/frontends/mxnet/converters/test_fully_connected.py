from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from frontends.errors import UnsupportedOperatorError
from qnn_ops.errors import QnnError
from tests.support.mxnet_float import check_family, convert


def test_what_mxnet_computes() -> None:
    # Sums of products in another order.
    check_family("fully_connected", {"": 1e-6})


def test_a_weight_that_is_an_input_is_transposed_at_run_time() -> None:
    mod, params = convert("FullyConnected", (2, 3), (4, 3), no_bias="1", num_hidden="4")
    assert not params
    assert "R.permute_dims" in mod.script()


@pytest.mark.parametrize(
    ("op", "shapes", "attrs", "message"),
    [
        ("FullyConnected", [(2, 3, 2), (4, 5)], {"num_hidden": "4"}, r"shape \(4, 6\), got"),
        ("FullyConnected", [(2, 6), (4, 6)], {"num_hidden": "5"}, r"shape \(5, 6\), got"),
        ("FullyConnected", [(2, 6), (4, 6), (5,)], {"num_hidden": "4"}, r"bias must have shape"),
        ("FullyConnected", [(2, 6), (4, 6)], {}, "num_hidden is missing"),
        ("dot", [(2, 3), (2, 3)], {}, "have no product"),
        ("batch_dot", [(2, 3, 4), (3, 4, 2)], {}, "equally many matrices"),
        ("batch_dot", [(2, 3, 4), (2, 4, 2)], {"transpose_a": "1"}, "have no product"),
    ],
)
def test_what_does_not_fit_is_named(
    op: str, shapes: list[tuple[int, ...]], attrs: dict[str, str], message: str
) -> None:
    inputs: list[Any] = [shapes[0], *(np.ones(shape, np.float32) for shape in shapes[1:])]
    with pytest.raises(QnnError, match=rf"{op} 'made': .*{message}"):
        convert(op, *inputs, **attrs)


def test_products_of_other_tensors_are_not_supported() -> None:
    with pytest.raises(UnsupportedOperatorError, match="only matrices"):
        convert("dot", (2, 3, 4), (4, 3))
