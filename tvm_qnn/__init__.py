"""tvm-qnn: models quantized in their own framework, as integer code on Apache TVM."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from frontends.tflite import QuantizedFallbackWarning, from_tflite
    from qnn_ops.errors import QnnError
    from tvm_qnn.build import build
    from tvm_qnn.compare import Comparison, compare
    from tvm_qnn.library import Library, load
    from tvm_qnn.target import host_target
    from tvm_qnn.timing import Timing

__all__ = [
    "Comparison",
    "Library",
    "QnnError",
    "QuantizedFallbackWarning",
    "Timing",
    "build",
    "compare",
    "from_tflite",
    "host_target",
    "load",
]

# Imported when they are first asked for: importing TVM takes most of a second, and the command
# line's help needs none of it.
_HOMES = {
    "Comparison": "tvm_qnn.compare",
    "Library": "tvm_qnn.library",
    "QnnError": "qnn_ops.errors",
    "QuantizedFallbackWarning": "frontends.tflite",
    "Timing": "tvm_qnn.timing",
    "build": "tvm_qnn.build",
    "compare": "tvm_qnn.compare",
    "from_tflite": "frontends.tflite",
    "host_target": "tvm_qnn.target",
    "load": "tvm_qnn.library",
}


class _Package(ModuleType):
    """This package: its functions ``build`` and ``compare`` win over the modules they stand in."""

    def __getattr__(self, name: str) -> Any:
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        # Whatever is done with an imported model, TVM's own passes then know how to lower it.
        importlib.import_module("legalize")
        value = getattr(importlib.import_module(_HOMES[name]), name)
        setattr(self, name, value)
        return value

    def __setattr__(self, name: str, value: Any) -> None:
        # Importing a submodule, whoever does it, sets it as an attribute of the package.
        if isinstance(value, ModuleType) and name in _HOMES:
            value = getattr(value, name)
        super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *__all__})


sys.modules[__name__].__class__ = _Package
