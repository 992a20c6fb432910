import inspect
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Annotated, Any, get_args

import numpy as np
import pytest
from tvm import relax

from qnn_ops import QnnError
from qnn_ops.dialect import declared
from qnn_ops.dialect.declared import Declaration
from qnn_ops.dialect.registry import TensorSpec
from tests.support.errors import fails


def formed(declaration: Any, value: Any) -> Any:
    """Return a value in the form of a declared type."""
    attribute = get_args(declaration)[1]
    assert isinstance(attribute, declared.Attribute)
    return attribute.form("name", value)


@pytest.mark.parametrize(
    ("declaration", "value", "expected"),
    [
        (declared.Text, "a", "a"),
        (declared.Flag, 1, True),
        (declared.Int, np.int64(3), 3),
        (declared.Ints, (1, 2), [1, 2]),
        (declared.Float, 0.1, float(np.float32(0.1))),
        (declared.Double, np.float64(0.1), 0.1),
        (declared.Doubles, np.array([0.1]), [0.1]),
        (declared.Axes, -1, [-1]),
        (declared.Axes, (0, 1), [0, 1]),
        (declared.Strides, 2, [2, 2]),
        (declared.Padding, (1, 2), [1, 2, 1, 2]),
        (declared.KernelScale, [0.5, 0.25], [0.5, 0.25]),
        (declared.KernelZeroPoint, [3], 3),
        (declared.Scales, (0.5, [0.25]), [0.5, 0.25]),
        (declared.ZeroPoints, (np.uint8(3), -4), [3, -4]),
    ],
)
def test_values_get_their_form(declaration: Any, value: Any, expected: Any) -> None:
    value = formed(declaration, value)
    assert value == expected
    assert type(value) is type(expected)


def test_errors_name_the_attribute() -> None:
    fails("name must be a list, got 3", formed, declared.Scales, 3)
    fails(r"name must be an integer, got 0\.5", formed, declared.Axes, 0.5)


@pytest.mark.parametrize(("end", "dtype", "expected"), [(0, "int8", -128), (1, "uint8", 255)])
def test_bounds_default_to_the_range_of_the_dtype(end: int, dtype: str, expected: int) -> None:
    default = declared.bound(end, "").default
    assert default is not None
    assert default({"out_dtype": dtype}) == expected


def test_a_choice_documents_itself() -> None:
    assert declared.choice("max", "avg").text == '"max" or "avg".'


def _has_extra(given: declared.Given) -> bool:
    return given["extra"] is not None


def example(
    data: relax.Expr,
    scale: declared.InputScale,
    out_dtype: declared.Text,
    strides: declared.Strides = 1,
    channels: declared.OptionalInt = None,
    data_layout: declared.Layout = "NHWC",
    out_layout: declared.OutLayout = "",
    *,
    extra: Sequence[relax.Expr] | relax.Expr | None = None,
    out_min: declared.OutMin = None,
    out_max: declared.OutMax = None,
    extra_scale: Annotated[float, declared.scale("of the extra.", needed=_has_extra)] = 1.0,
    kind: Annotated[str, declared.choice("plain", "fancy", implied=True)] = "plain",
) -> None:
    """Do it.

    Args:
        data: any,
            of any shape.
        channels: its own text.
        out_dtype: the result's.
        extra: one or several.

    Returns:
        A call.
    """


DECLARATION = Declaration(example)


def attrs(*args: Any, **kwargs: Any) -> dict[str, Any]:
    return DECLARATION.attrs(DECLARATION.given(args, kwargs))


def test_attributes_are_brought_to_their_forms() -> None:
    assert attrs("x", [0.1], "int8", 2, out_min=-3) == {
        "scale": 0.10000000149011612,
        "out_dtype": "int8",
        "strides": [2, 2],
        "data_layout": "NHWC",
        "out_layout": "NHWC",
        "out_min": -3,
        "out_max": 127,
    }


def test_optional_implied_and_needed_attributes_are_there_where_they_say_something() -> None:
    more = attrs(
        *("x", 1.0, "uint8"), channels=3, out_layout="NCHW", extra=1, extra_scale=2, kind="fancy"
    )
    assert set(more) - set(attrs("x", 1.0, "uint8")) == {"channels", "extra_scale", "kind"}
    assert (more["channels"], more["extra_scale"], more["kind"]) == (3, 2.0, "fancy")
    assert (more["out_layout"], more["out_max"]) == ("NCHW", 255)


def test_what_does_not_fit_is_named() -> None:
    fails(r"out_min must be an integer, got 0\.5", attrs, "x", 1.0, "int8", out_min=0.5)
    with pytest.raises(QnnError, match="dtype must be int8, uint8, int16 or int32, got 'bool'"):
        attrs("x", 1.0, "bool", out_min=0, out_max=1)


def test_arguments_that_do_not_fit_the_signature_are_pythons_own_errors() -> None:
    fails(r"example\(\) missing 1 required positional argument", attrs, "x", 1.0, error=TypeError)
    with pytest.raises(TypeError, match="unexpected keyword argument 'scales'"):
        attrs("x", 1.0, "int8", scales=1)


def test_values_of_a_call_are_checked_where_it_has_them() -> None:
    DECLARATION.check(SimpleNamespace(kind="fancy", data_layout="NCHW"))
    with pytest.raises(QnnError, match=r"^kind must be one of plain, fancy, got 'odd'$"):
        DECLARATION.check(SimpleNamespace(kind="odd"))
    with pytest.raises(QnnError, match=r"^data_layout must be one of NHWC, NCHW, got 'NWHC'$"):
        DECLARATION.check(SimpleNamespace(data_layout="NWHC"))


def test_readers_see_plain_types() -> None:
    parameters = DECLARATION.signature(int).parameters
    assert parameters["scale"].annotation is float
    assert parameters["channels"].annotation == int | None
    assert DECLARATION.signature(int).return_annotation is int


def test_documentation_has_all_parameters_in_their_order() -> None:
    text = DECLARATION.document(inspect.getdoc(example) or "")
    begin, end = text.index("Args:"), text.index("Returns:")
    entries = [line.split(": ")[0] for line in text[begin:end].splitlines() if ": " in line]
    assert [entry.strip() for entry in entries] == list(inspect.signature(example).parameters)
    assert "    data: any,\n        of any shape.\n    scale: real value of one step of" in text
    assert "    channels: its own text." in text
    assert "    extra_scale: of the extra." in text
    assert '    kind: "plain" or "fancy".\n\nReturns:\n    A call.' in text
    assert DECLARATION.document("Do it.") == "Do it."


def test_operands_of_several_tensors_are_known() -> None:
    assert DECLARATION.tensors == ("data", "extra")
    assert DECLARATION.tuples == {"extra"}


def test_a_parameter_that_declares_nothing_is_an_error() -> None:
    def wrong(data: relax.Expr, axis: int) -> None:
        """Do nothing."""

    fails("wrong: axis declares no attribute", Declaration, wrong, error=TypeError)


def test_operands_are_as_they_are_declared() -> None:
    def function(data: declared.FloatMatrix, other: relax.Expr) -> None:
        """Do it."""

    check, other = Declaration(function).check, TensorSpec((), "bool")
    check(None, [TensorSpec((2, 3), "float32"), other])
    fails("data must be float32, got int8", check, None, [TensorSpec((2, 3), "int8"), other])
    fails("data must have 2 dimensions, got", check, None, [TensorSpec((2,), "float32"), other])
