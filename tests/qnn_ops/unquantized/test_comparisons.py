"""What quantized values are compared by; tests/frontends holds it to LiteRT."""

import numpy as np
import pytest
from tvm import relax

import tvm_qnn
from qnn_ops.unquantized.comparisons import comparison_table, unequal
from tests.support.errors import fails
from tests.support.modules import module


def test_values_stand_for_their_real_ones_in_steps_of_256() -> None:
    table = comparison_table(0.5, 3, "int8")
    assert table.dtype == np.int32
    np.testing.assert_array_equal(table, (np.arange(-128, 128) - 3) * 128)


def test_close_values_stand_for_the_same() -> None:
    assert len(np.unique(comparison_table(0.001, 0, "uint8"))) == 66


def test_above_one_signs_are_left() -> None:
    np.testing.assert_array_equal(
        comparison_table(7.5, 3, "int8")[[0, 130, 131, 255]], [-1, -1, 1, 1]
    )


def test_what_builds_do_not_agree_on() -> None:
    fails("builds differ", comparison_table, 1e6, 0, "int8")


@pytest.mark.parametrize("scale", [1.0, 1 - 1e-12, 0.0, -2.0])
def test_scales_must_be_positive_and_not_one(scale: float) -> None:
    fails("compares no tensors of the scale", comparison_table, scale, 0, "int8")


def test_nan_differs_from_all() -> None:
    a = np.array([np.nan, np.nan, 0, 1], np.float32)
    b = np.array([np.nan, 1, 0, 2], np.float32)
    ty = relax.TensorType((4,), "float32")
    library = tvm_qnn.build(module({"a": ty, "b": ty}, unequal), "host")
    assert library.run(a, b).tolist() == [True, True, False, True]
