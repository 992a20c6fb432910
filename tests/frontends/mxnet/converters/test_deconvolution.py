from __future__ import annotations

import numpy as np
import pytest

from frontends.errors import UnsupportedOperatorError
from qnn_ops.errors import QnnError
from tests.support.mxnet_float import check_family, convert

WEIGHT = np.ones((4, 3, 3, 2), np.float32)
ATTRS = {"kernel": "(3, 2)", "num_filter": "3", "stride": "(2, 2)"}


def test_what_mxnet_computes() -> None:
    # Sums of products in another order.
    check_family("deconvolution", {"": 1e-6})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"num_filter": "5"}, r"weight must have shape \(4, 5, 3, 2\)"),
        ({"num_group": "3"}, "num_group must divide the 4 channels"),
        ({"adj": "(2, 0)"}, "adj be below the stride of 2"),
        ({"pad": "(7, 0)"}, "pad must leave something"),
    ],
)
def test_attributes_that_do_not_fit_are_named(changes: dict[str, str], message: str) -> None:
    with pytest.raises(QnnError, match=rf"Deconvolution 'made': .*{message}"):
        convert("Deconvolution", (1, 4, 6, 5), WEIGHT, **{**ATTRS, **changes})


def test_target_shapes_are_not_supported() -> None:
    with pytest.raises(UnsupportedOperatorError, match="without a target_shape"):
        convert("Deconvolution", (1, 4, 6, 5), WEIGHT, **ATTRS, target_shape="(12, 10)")
