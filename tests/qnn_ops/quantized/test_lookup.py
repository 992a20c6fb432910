import numpy as np

from qnn_ops import quantized_lookup
from tests.support.arrays import every_value
from tests.support.errors import failing
from tests.support.operators import module_of


def test_the_first_entry_is_that_of_the_lowest_value() -> None:
    table = every_value("uint8")
    signed = quantized_lookup.evaluate(np.array([-128, 0, 127], np.int8), table)
    np.testing.assert_array_equal(signed, np.array([0, 128, 255], np.uint8))
    unsigned = quantized_lookup.evaluate(np.array([[0], [255]], np.uint8), table[::-1].copy())
    np.testing.assert_array_equal(unsigned, np.array([[255], [0]], np.uint8))


test_operands_that_do_not_fit_are_named = failing(
    lambda operands: module_of(quantized_lookup, operands),
    ([np.zeros(3, np.int32), every_value("int8")], "quantized_data must be int8 or uint8"),
    ([np.zeros(3, np.int16), every_value("int8")], r"table must have shape \(65536,\)"),
    ([np.zeros(3, np.int8), np.zeros(256, np.float32)], "table must be int8 or uint8"),
    ([np.zeros(3, np.int8), np.zeros(255, np.int8)], r"table must have shape \(256,\)"),
    match="quantized_lookup: {}",
)
