import json
import re

import pytest
import tvm

from qnn_ops import requantize  # noqa: F401 (registers the operators)
from tvm_qnn.library import module_text as texts
from tvm_qnn.library.module_text import module_text

CALLS = """
# from tvm.script import ir as I, relax as R
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 3), "int8"), y: R.Tensor((2, 3), "int8")):
        R.func_attr({"num_input": 2})
        with R.dataflow():
            a = R.add(x, y)
            b = R.qnn.requantize(
                a, input_scale=[0.25, 0.5, 1.0], input_zero_point=1,
                output_scale=0.5, output_zero_point=0, axis=1, out_dtype="int8",
            )
            c = R.reshape(b, R.shape([3, 2]))
            d = R.split(c, 2, 1)
            e = R.multiply(d[0], R.const(2, "int8"))
            R.output(e)
        return e
"""
"""Calls of every kind that importers emit."""

CHANGES = {
    "operator": ("R.add(x, y)", "R.subtract(x, y)"),
    "operands": ("R.add(x, y)", "R.add(x, x)"),
    "order": ("R.add(x, y)", "R.add(y, x)"),
    "number of a list": ("[0.25, 0.5", "[0.25, 0.50000006"),
    "integer": ("input_zero_point=1", "input_zero_point=2"),
    "text": ('out_dtype="int8"', 'out_dtype="int8", rounding="upward"'),
    "shape": ("R.shape([3, 2])", "R.shape([1, 6])"),
    "attributes of TVM": ("split(c, 2, 1)", "split(c, 2, 0)"),
    "item": ("d[0]", "d[1]"),
    "constant": ("R.const(2,", "R.const(3,"),
    "name of a parameter": ("y", "z"),
    "name of a variable": ("e", "long"),
    "result": ("return e", "return (e, e)"),
    "attribute of the function": ('"num_input": 2', '"num_input": 1'),
    "kind of a number": ('"num_input": 2', '"num_input": 2.0'),
    "function": ("def main", "def other"),
}


def parsed(old: str = "", new: str = "") -> tvm.IRModule:
    """Return the module with one word, or other part of its text, in place of another."""
    part = re.compile(rf"\b{old}\b" if old.isalpha() else re.escape(old))
    return tvm.script.from_source(part.sub(new, CALLS) if old else CALLS)


@pytest.mark.parametrize("change", CHANGES)
def test_a_module_that_differs_has_another_text(
    change: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(texts, "structural_hash", lambda _, **_options: 0)  # the text alone tells
    assert module_text(parsed(*CHANGES[change])) != module_text(parsed()) == module_text(parsed())


def test_a_module_of_other_types_has_another_text() -> None:
    other = parsed("y: R.Tensor((2, 3)", "y: R.Tensor((1, 3)")
    assert module_text(other) != module_text(parsed())


def test_a_function_of_other_expressions_is_written_by_tvm() -> None:
    kernel = tvm.tirx.PrimFunc([], tvm.tirx.Evaluate(0))
    others = [parsed(), parsed()]
    others[0]["kernel"] = kernel
    others[1]["kernel"] = tvm.tirx.PrimFunc([], tvm.tirx.Evaluate(1))
    assert len({*map(module_text, [parsed(), *others])}) == 3
    assert tvm.ir.save_json(kernel) in json.loads(module_text(others[0]))[-1][0]


def test_a_module_of_other_names_of_sizes_has_another_text() -> None:
    open_sizes = """
# from tvm.script import ir as I, relax as R
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("first", 3), "int8"), y: R.Tensor(("second", 3), "int8")):
        return (x, y)
"""
    swapped = open_sizes.replace("first", "_").replace("second", "first").replace("_", "second")
    first, second = map(tvm.script.from_source, (open_sizes, swapped))
    assert module_text(first) != module_text(second)
