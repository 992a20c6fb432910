"""How tests compile: in few modules, and without optimization if their subject is not the code."""

import functools
import sys
from typing import Any

import pytest
import tvm
from tvm.tirx.build import codegen_build

from tvm_qnn.target import codegen, parts


def compile_in_few_modules(patch: pytest.MonkeyPatch) -> None:
    """Compile functions together.

    The code of a function does not depend on the other functions of its module, but each module
    takes some 20 ms.
    """
    patch.setattr(parts, "_MOST_PARTS", 1)
    patch.setattr(parts, "_SHARES", 1)


def compile_as_written(patch: pytest.MonkeyPatch) -> None:
    """Let LLVM translate what TVM writes, and no more. Leave out the checks of arguments.

    The checks of a function take longer to compile than the function. The virtual machine checks
    the inputs of ``main``, too.
    """
    # tvm.tirx.build is the function, too.
    patch.setattr(sys.modules["tvm.tirx.build"], "codegen_build", _codegen_build)
    patch.setattr(codegen, "_reading", lambda *_: set())


@functools.cache
def _unoptimized(target: tvm.target.Target) -> tvm.target.Target:
    return tvm.target.Target({**target.export(), "opt-level": 0})


def _codegen_build(mod: tvm.IRModule, target: tvm.target.Target) -> Any:
    is_told = target.kind.name != "llvm" or "opt-level" in target.export()
    return codegen_build(mod, target if is_told else _unoptimized(target))
