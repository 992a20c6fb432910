import tvm

from qnn_ops.dialect.plain import plain


def test_lists_that_only_look_equal_keep_their_types() -> None:
    fields = {"flags": [True], "integers": [1], "floats": [1.0]}
    attrs = tvm.ir.make_node("ir.DictAttrs", **fields)
    found = {name: plain(value) for name, value in attrs.items()}
    assert {name: type(value) for name, (value,) in found.items()} == {
        "flags": bool,
        "integers": int,
        "floats": float,
    }
