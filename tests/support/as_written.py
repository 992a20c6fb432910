"""Code that LLVM does not optimize, for tests whose subject is not the code."""

from __future__ import annotations

import functools
import sys
from typing import Any

import pytest
import tvm
from tvm.tirx.build import codegen_build

from tvm_qnn.target import codegen


def compile_as_written(patch: pytest.MonkeyPatch) -> None:
    """Let LLVM translate what TVM writes, and no more.

    Each build makes few modules: without a store for their objects, each takes some 10 ms.
    """
    # tvm.tirx.build is the function, too.
    patch.setattr(sys.modules["tvm.tirx.build"], "codegen_build", _codegen_build)
    patch.setattr(codegen, "_PARTS", 1)


@functools.cache
def _unoptimized(target: tvm.target.Target) -> tvm.target.Target:
    return tvm.target.Target({**target.export(), "opt-level": 0})


def _codegen_build(mod: tvm.IRModule, target: tvm.target.Target) -> Any:
    is_told = target.kind.name != "llvm" or "opt-level" in target.export()
    return codegen_build(mod, target if is_told else _unoptimized(target))
