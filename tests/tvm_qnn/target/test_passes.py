from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import tvm
from tvm import relax
from tvm.relax import op as R

from legalize import lower, relax_pipeline
from qnn_ops.signature import ATTRIBUTE
from tests.support.modules import adder, module
from tvm_qnn import digits, from_tflite
from tvm_qnn.target import codegen
from tvm_qnn.target.passes import LEFT_OUT
from tvm_qnn.target.target import parse_target


@tvm.ir.instrument.pass_instrument
class _Names:
    """Keeps the names of the passes that run."""

    def __init__(self) -> None:
        self.seen: set[str] = set()

    def run_before_pass(self, _mod: tvm.IRModule, info: Any) -> None:
        self.seen.add(info.name)


def test_they_are_passes_of_tvm_s() -> None:
    names = _Names()
    with tvm.transform.PassContext(instruments=[names]):
        tvm.compile(adder(), target="llvm")
    assert {*LEFT_OUT} <= names.seen


def padded() -> tvm.IRModule:
    """Of conditions in loops: what a window reads of the padding."""
    ty = relax.TensorType((1, 3, 9, 9), "int32")
    return module({"x": ty}, lambda x: R.nn.max_pool2d(x, (3, 3), padding=(1, 1)))


def digits_network() -> tvm.IRModule:
    mod, params = from_tflite(digits.model("int8"))
    bound = relax.transform.BindParams("main", params)(mod)
    bound["main"] = bound["main"].without_attr(ATTRIBUTE)
    return bound


@pytest.mark.parametrize("target", ["x86-avx2", "aarch64", "riscv32"])
@pytest.mark.parametrize("model", [padded, digits_network])
def test_code_is_the_same_with_them(
    model: Callable[[], tvm.IRModule], target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    parsed = parse_target(target)
    with parsed:
        lowered = lower(model(), parsed)

    def code() -> dict[str, str]:
        compiled = codegen.compile_module(lowered, parsed, relax_pipeline(parsed))
        return {name: each.inspect_source("asm") for name, each in compiled.kernels.items()}

    without = code()
    monkeypatch.setattr(codegen, "LEFT_OUT", ())
    assert without == code()
