"""``relay.testing``, as far as TVM's tests and similar scripts use it."""

from importlib import import_module
from typing import Any

import tvm
from tvm import relax

from qnn_ops.errors import QnnError
from tvm_qnn.relay.expr import module_of, spec
from tvm_qnn.relay.testing.init import create_workload
from tvm_qnn.relay.testing.temp_op_attr import TempOpAttr

_PARTS = (
    *("dcgan", "densenet", "dqn", "inception_v3", "init", "layers", "mlp", "mobilenet", "resnet"),
    *("squeezenet", "vgg"),
)
__all__ = [
    "TempOpAttr",
    "create_workload",
    "ctx_list",
    "enabled_targets",
    "generate_ref_data",
    "run_infer_type",
    "run_opt_pass",
    *_PARTS,
]
_MISSING = ("darknet", "lstm", "resnet_3d", "synthetic", "tf", "yolo_detection")


def run_infer_type(expr: Any) -> Any:
    """Return an expression or a function with its type; calls have theirs from the beginning."""
    if isinstance(expr, relax.Call) and not isinstance(expr.ty, relax.TupleType):
        spec("run_infer_type", expr)
    return expr


def run_opt_pass(expr: Any, opt_pass: Any, import_prelude: bool = False) -> Any:
    """Run one pass or several on an expression or a function, and return a function."""
    del import_prelude
    passes = opt_pass if isinstance(opt_pass, list) else [opt_pass]
    return tvm.transform.Sequential(passes)(module_of(expr))["main"]


def generate_ref_data(mod: tvm.IRModule, input_data: Any, params: Any = None) -> dict[str, Any]:
    """Return a module's outputs for inputs by name, as ``{"output": array, …}``."""
    from tvm_qnn.relay.vm import create_executor

    result = create_executor("graph", mod, params=params).evaluate()(**dict(input_data))
    several = result if isinstance(result, list) else [result]
    names = ["output", *(f"output{i}" for i in range(2, len(several) + 1))]
    return {name: each.numpy() for name, each in zip(names, several, strict=True)}


def enabled_targets() -> list[tuple[str, Any]]:
    """Return the targets to test, each with its device: only this machine's processor."""
    return [("llvm", tvm.cpu(0))]


ctx_list = enabled_targets


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def __getattr__(name: str) -> Any:
    if name in _PARTS:
        return import_module(f"{__name__}.{name}")
    if name in _MISSING:
        raise QnnError(
            f"relay.testing.{name}: import a model file; tvm_qnn.zoo makes networks to try with"
        )
    raise AttributeError(f"relay.testing has no {name}")
