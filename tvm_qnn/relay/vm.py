"""``relay.vm``: a compiled module whose functions are called by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tvm

from tvm_qnn.relay.build_module import FactoryModule, build
from tvm_qnn.relay.executor import VirtualMachine

__all__ = ["VirtualMachine", "compile"]


def compile(
    mod: tvm.IRModule,
    target: Any = "llvm",
    target_host: Any = None,
    params: Mapping[str, Any] | None = None,
) -> FactoryModule:
    """Compile a module for ``VirtualMachine``; arguments as ``relay.build``."""
    return build(mod, target, target_host, params=params)
