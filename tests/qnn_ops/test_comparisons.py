"""What quantized values are compared by; tests/frontends holds it to LiteRT."""

from __future__ import annotations

import numpy as np
import pytest

from qnn_ops.comparisons import comparison_table
from qnn_ops.errors import QnnError


def test_values_stand_for_their_real_ones_in_steps_of_256() -> None:
    table = comparison_table(0.5, 3, "int8")
    assert table.dtype == np.int32
    np.testing.assert_array_equal(table, (np.arange(-128, 128) - 3) * 128)


def test_close_values_stand_for_the_same() -> None:
    assert len(np.unique(comparison_table(0.001, 0, "uint8"))) == 66


@pytest.mark.parametrize("scale", [1.0, 1 - 1e-12, 7.5])
def test_scales_must_be_below_one(scale: float) -> None:
    with pytest.raises(QnnError, match="scale below 1"):
        comparison_table(scale, 0, "int8")
