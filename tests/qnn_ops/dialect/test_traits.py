from collections.abc import Iterator
from inspect import signature
from typing import Any

import numpy as np
import pytest
from tvm import relax

import legalize  # noqa: F401 (imports all operators)
from qnn_ops import QnnError
from qnn_ops.dialect.overflow import check_overflow
from qnn_ops.dialect.registry import OPERATORS, R_QNN, Attrs, Operator, operator
from qnn_ops.dialect.traits import MOVED_RESULT, Channels, always, moving, shifted
from tests.support.errors import fails

EACH = pytest.mark.parametrize("name", sorted(OPERATORS))

# By an attribute of an operator, the first that it has: where its channels can be.
CHANNELS = {
    "data_layout": {Channels.CONVOLUTION},
    "layout": {Channels.LAYOUT},
    "keepdims": {Channels.REDUCED_AXES},
    "axis": {Channels.AXIS},
    "pad_width": {Channels.PAD_WIDTH},
}
FIXED = {
    f"relax.qnn.{name}"
    for name in ("dequantize", "quantized_lstm", "quantized_svdf", "quantized_svdf_state")
}
"""What makes no 8-bit values, or is int8 only; it gets a copy of those that are moved."""
UNNAMED = {Channels.ANYWHERE, Channels.ANYWHERE_IN_FIRST, Channels.LAST}


@pytest.fixture
def untold() -> Iterator[Operator[Any]]:
    """Yield an operator of the test's own that states nothing."""

    @operator()
    def untold_for_test(data: relax.Expr) -> None:
        """Do nothing."""

    @untold_for_test.type_rule
    def _type(_attrs: Attrs, data: Any) -> Any:
        return data

    yield untold_for_test
    del OPERATORS[untold_for_test.op.name]
    delattr(R_QNN, untold_for_test.name)


@EACH
def test_every_operator_states_its_traits(name: str) -> None:
    each = OPERATORS[name]
    assert set(each.traits.zero_points) <= set(each.tensors)
    assert each._overflow_rule is not None


@EACH
def test_what_has_bounds_clamps(name: str) -> None:
    parameters = signature(OPERATORS[name]).parameters
    assert OPERATORS[name].traits.clamps == ("out_min" in parameters and "out_max" in parameters)


@EACH
def test_channels_are_where_an_attribute_says(name: str) -> None:
    parameters = signature(OPERATORS[name]).parameters
    allowed = next((CHANNELS[each] for each in CHANNELS if each in parameters), UNNAMED)
    assert OPERATORS[name].traits.channels in allowed


@pytest.mark.parametrize("name", sorted(set(OPERATORS) - FIXED))
def test_every_zero_point_moves_with_a_tensor(name: str) -> None:
    traits, parameters = OPERATORS[name].traits, signature(OPERATORS[name]).parameters
    # Weights are not moved.
    points = {each for each in parameters if "zero_point" in each} - {"kernel_zero_point"}
    attrs = OPERATORS[name].attrs(
        **{each: (1, 2) if each.endswith("s") else 1 for each in points},
        input_scales=(0.5, 0.25),
        output_scale=0.5,
        pool_type="max",
    )
    moved = {} if traits.moved is None else traits.moved(attrs, "uint8")
    assert points <= {*traits.zero_points.values(), *moved}
    # Never with both: one tensor may be moved without the other.
    assert {*traits.zero_points.values()}.isdisjoint(moved)


def test_operators_of_bytes_that_compute_element_by_element() -> None:
    binary = ("add", "multiply", "prelu", "squared_difference", "subtract")
    assert {each.name: each.elementwise for each in OPERATORS.values() if each.elementwise} == {
        **{f"quantized_{name}": 2 for name in binary},
        "quantized_lookup": 1,
        "quantized_relu": 1,
    }


def test_attributes_move_as_values_do() -> None:
    attrs = Attrs(zero_point=(-128, 3), out_min=-100, out_dtype="int8", scale=0.5)
    assert shifted(attrs, "uint8", "zero_point", "out_min", "out_max") == {
        "zero_point": [0, 131],
        "out_min": 28,
    }
    assert shifted(attrs, "int8", "out_min") == {"out_min": -228}
    assert moving("out_min")(attrs, "uint8") == {"out_min": 28, "out_dtype": "uint8"}
    assert moving()(Attrs(axis=1), "uint8") == {}
    assert MOVED_RESULT(attrs, "uint8") == {"out_min": 28, "out_dtype": "uint8"}
    assert always(attrs)


def test_what_is_not_stated_is_an_error(untold: Operator[Any]) -> None:
    with pytest.raises(QnnError, match="untold_for_test: the operator states no traits"):
        _ = untold.traits
    call = relax.BlockBuilder().normalize(untold(relax.const(np.zeros(3, np.int8))))
    fails("untold_for_test: the operator does not say when", check_overflow, call, {})
