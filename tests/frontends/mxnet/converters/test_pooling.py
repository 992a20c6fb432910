from __future__ import annotations

import pytest

from frontends.errors import UnsupportedOperatorError
from qnn_ops.errors import QnnError
from tests.support.mxnet_float import check_family, convert


def test_what_mxnet_computes() -> None:
    # The largest is one of the data. Sums are made in another order.
    check_family("pooling", {"avg": 1e-6, "sum": 1e-6})


@pytest.mark.parametrize(
    ("attrs", "message"),
    [
        ({"kernel": "(9, 2)"}, "window of 9 does not fit 6 pixels"),
        ({"pad": "(4, 0)"}, "a window of 2 has no pixel"),
        ({"pooling_convention": "valud"}, "pooling_convention must be one of valid, full, same"),
        ({"pool_type": "lp"}, "pool_type must be one of max, avg, sum"),
        ({"kernel": "None"}, "kernel must be whole numbers"),
    ],
)
def test_attributes_that_do_not_fit_are_named(attrs: dict[str, str], message: str) -> None:
    with pytest.raises(QnnError, match=rf"Pooling 'made': .*{message}"):
        convert("Pooling", (1, 3, 6, 5), **{"kernel": "(2, 2)", **attrs})


def test_other_conventions_and_volumes_are_not_supported() -> None:
    with pytest.raises(UnsupportedOperatorError, match="same is not supported"):
        convert("Pooling", (1, 3, 6, 5), kernel="(2, 2)", pooling_convention="same")
    with pytest.raises(UnsupportedOperatorError, match="only images"):
        convert("Pooling", (1, 3, 6), kernel="(2,)")


def test_images_with_their_channels_last_stay_so() -> None:
    mod, _ = convert("Pooling", (1, 6, 5, 3), kernel="(2, 2)", layout="NHWC", pool_type="avg")
    assert tuple(map(int, mod["main"].ret_ty.shape)) == (1, 5, 4, 3)
