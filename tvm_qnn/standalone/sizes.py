"""Replaces open sizes by numbers, for models that become C code."""

import warnings
from dataclasses import replace

import tvm
from tvm import relax

from qnn_ops.dialect.signature import bounds_of, signature_of, with_signature, without_bounds
from qnn_ops.dialect.tensor_info import OpenSize, TensorInfo
from tvm_qnn.standalone.arrangement import check_sizes


class LargestSizeWarning(UserWarning):
    """C code uses the largest number for each size that a model leaves open."""


def at_largest(mod: tvm.IRModule) -> tvm.IRModule:
    """Return a model with the largest number for each open size.

    Raises:
        QnnError: a size has no largest number; the message names all sizes.

    Warns:
        LargestSizeWarning: once, if a size is open.
    """
    signature = signature_of(mod)
    ends = {name: high for name, (_, high) in bounds_of(mod["main"]).items() if high is not None}
    opened = {size for info in signature.inputs for size in info.shape if type(size) is OpenSize}
    if not opened:
        return mod
    if any(size.value(ends) is None for size in opened):
        check_sizes(signature)

    def sized(info: TensorInfo) -> TensorInfo:
        return replace(info, shape=tuple(map(number, info.shape)))

    def number(size: int) -> int:
        return int(size.value(ends) or size) if isinstance(size, OpenSize) else size

    mod = relax.transform.BindSymbolicVars(ends, "main")(mod)
    signature = replace(
        signature,
        inputs=tuple(map(sized, signature.inputs)),
        outputs=tuple(map(sized, signature.outputs)),
    )
    mod = tvm.IRModule(mod.functions, attrs=mod.attrs)
    mod["main"] = with_signature(without_bounds(mod["main"]), signature)
    chosen = ", ".join(f"{name} is {high}" for name, high in ends.items())
    warnings.warn(f"C code takes the largest sizes: {chosen}", LargestSizeWarning, stacklevel=3)
    return mod
