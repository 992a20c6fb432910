"""What a module becomes before TVM makes machine code of it, in a few hashes."""

from hashlib import blake2b
from typing import Any, TypeAlias

import tvm
import tvm_ffi
from tvm import relax

from legalize import lower, relax_pipeline
from qnn_ops.dialect.signature import ATTRIBUTE

Hashes: TypeAlias = "dict[str, str]"
"""Hashes by name: of a function or a constant, after a step of lowering."""


def hashes_of(mod: tvm.IRModule, target: tvm.target.Target, *, kernels: bool) -> Hashes:
    """Hash the steps of ``tvm_qnn.build`` for a module, up to TVM's machine code.

    Each function is hashed by its structure: names of variables and places in source files do
    not count. Constants of main are hashed apart from it, so that a difference has a name.

    Args:
        mod: of the dialect, with constants bound.
        target: of the code.
        kernels: whether to use kernels.
    """
    with target:
        lowered = lower(mod, target, kernels=kernels)
        lowered["main"] = lowered["main"].without_attr(ATTRIBUTE)
        ready = relax_pipeline(target)(lowered)
    # The first where it is easier to see what differs, the second where it counts.
    return {**module_hashes(lowered, "lowered"), **module_hashes(ready, "ready")}


def module_hashes(mod: tvm.IRModule, step: str) -> Hashes:
    """Hash the functions of a module, and the constants that they contain.

    Args:
        mod: of Relax and TIR functions.
        step: that made it, for the names.
    """
    hashes = {}
    functions = {str(variable.name_hint): each for variable, each in mod.functions.items()}
    for name in sorted(functions):
        function = functions[name]
        if not isinstance(function, relax.Function):
            hashes[f"{step} function {name}"] = _text(tvm_ffi.structural_hash(function))
            continue
        callees, constants = _parts(function)
        # In a function without its module, the functions that it calls are unnamed variables.
        structure = tvm_ffi.structural_hash(function, map_free_vars=True, skip_tensor_content=True)
        digest = blake2b("\n".join([_text(structure), *callees]).encode(), digest_size=8)
        hashes[f"{step} function {name}"] = digest.hexdigest()
        for number, constant in enumerate(constants):
            hashes[f"{step} {name}'s constant {number}"] = _constant_text(constant)
    return hashes


def _parts(function: relax.Function) -> tuple[list[str], list[Any]]:
    """Return the names of the functions that it calls, and its tensors, each in order."""
    callees: list[str] = []
    tensors: list[Any] = []

    def visit(part: Any) -> None:
        if isinstance(part, tvm.ir.GlobalVar):
            callees.append(str(part.name_hint))
        elif isinstance(tensor := getattr(part, "value", None), tvm.runtime.Tensor):
            tensors.append(tensor)

    relax.analysis.post_order_visit(function, visit)
    return callees, tensors


def _constant_text(tensor: Any) -> str:
    array = tensor.numpy()
    digest = blake2b(array.tobytes(), digest_size=8).hexdigest()
    return f"{array.dtype} {array.shape} {digest}"


def _text(number: int) -> str:
    return f"{number & (1 << 64) - 1:016x}"
