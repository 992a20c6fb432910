from frontends.errors import ModelFormatError, UnsupportedOperatorError, reason_of
from qnn_ops.errors import QnnError


def test_importer_errors_are_the_projects_errors() -> None:
    assert issubclass(ModelFormatError, QnnError)
    assert issubclass(UnsupportedOperatorError, QnnError)


def test_unsupported_operators_are_all_listed() -> None:
    first = (3, "SVDF", "has no conversion", ["in", "state"])
    second: tuple[int, str, str, list[str]] = (7, "CUSTOM:Foo", "is a custom operator", [])
    error = UnsupportedOperatorError([first, second])
    assert error.operators == (first, second)
    assert str(error).splitlines() == [
        "2 operators cannot be imported:",
        "  operator 3 SVDF: has no conversion (tensors: 'in', 'state')",
        "  operator 7 CUSTOM:Foo: is a custom operator (tensors: none)",
    ]


def test_one_unsupported_operator_is_singular() -> None:
    error = UnsupportedOperatorError([(0, "SVDF", "has no conversion", ["x"])])
    assert str(error).startswith("1 operator cannot be imported:\n")


def test_the_reason_of_tvm_s_errors_is_their_last_line() -> None:
    assert reason_of(QnnError("one\ntwo")) == "one\ntwo"
    assert reason_of(ValueError("Traceback\nshapes differ\n")) == "shapes differ"
    assert reason_of(RuntimeError()) == "RuntimeError"
    operator = 'ir.Op(span=None, ty=ir.Type(span=None), name="relax.max", support_level=10)'
    assert reason_of(ValueError(f"In {operator}, the axis is 3")) == "In relax.max, the axis is 3"
