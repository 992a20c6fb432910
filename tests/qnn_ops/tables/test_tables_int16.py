"""The scales that functions of int16 take; tests of the importer compare their values."""

import pytest

from qnn_ops.errors import QnnError
from qnn_ops.tables.tables_int16 import logistic_table_int16, power_of_two


def test_powers_of_two_are_within_a_thousandth_of_their_exponent() -> None:
    assert power_of_two(2.0**-15) == -15
    assert power_of_two(2.0**-15 * 1.0005) == -15
    assert power_of_two(2.0**-15 * 1.001) is None


def test_what_does_not_fit() -> None:
    with pytest.raises(QnnError, match=r"logistic in int16 must have output scale 2\^-15, got 0.5"):
        logistic_table_int16(0.1, 0.5)
