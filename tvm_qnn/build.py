"""From a module of the dialect to a compiled library."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import tvm
from tvm import relax

from legalize import lower
from qnn_ops.errors import QnnError
from qnn_ops.signature import ATTRIBUTE, Signature, signature_of
from tvm_qnn.library import METADATA, Library


def build(
    mod: tvm.IRModule,
    target: str | Mapping[str, Any] | tvm.target.Target = "llvm",
    params: Mapping[str, Any] | None = None,
    *,
    kernels: bool = True,
) -> Library:
    """Compile a module of quantized operators into integer code.

    Args:
        mod: its ``main`` may mix operators of the dialect with Relax's own.
        target: anything ``tvm.target.Target`` takes, for example "llvm -mcpu=znver4" or
            {"kind": "llvm", "mcpu": "cascadelake"}; ``host_target()`` is this machine.
        params: constants by parameter name, as an importer returns them.
        kernels: use the hand-written kernels of the target's instruction set where there is
            one; without them everything runs through the portable primitives, and the results
            are the same integers.

    Returns:
        The compiled library, ready to run here if the target is this machine's.

    Raises:
        QnnError: if the target cannot be understood or the module has no main function.
    """
    parsed = parse_target(target)
    mod = _bind(mod, params or {})
    signature = signature_of(mod)
    with parsed:
        mod = lower(mod, parsed, kernels=kernels)
        mod["main"] = mod["main"].without_attr(ATTRIBUTE)
        mod[METADATA] = _metadata_function(signature)
        executable = tvm.compile(mod, target=parsed)
    return Library(executable)


def host_target() -> tvm.target.Target:
    """The target that describes this machine's processor."""
    codegen = tvm.target.codegen
    return tvm.target.Target({"kind": "llvm", "mcpu": codegen.llvm_get_system_cpu()})


def parse_target(target: str | Mapping[str, Any] | tvm.target.Target) -> tvm.target.Target:
    """A TVM target from its text, its dict or itself.

    Text is a kind and options, "llvm -mcpu=znver4 -mattr=+avx512f,+avx512vnni", or "host".

    Raises:
        QnnError: if TVM does not accept it.
    """
    if isinstance(target, tvm.target.Target):
        return target
    if target == "host":
        return host_target()
    try:
        parsed = tvm.target.Target(_fields(target) if isinstance(target, str) else dict(target))
    except (ValueError, TypeError, RuntimeError) as error:
        reason = str(error).strip().splitlines()[-1:]
        raise QnnError(f"cannot understand the target {target!r}: {' '.join(reason)}") from None
    cpu = parsed.attrs.get("mcpu")
    # LLVM would print a line and go on with a generic processor.
    if cpu and cpu not in tvm.target.codegen.llvm_get_cpu_archlist(parsed):
        raise QnnError(f"LLVM knows no processor {cpu!r} for the target {target!r}")
    return parsed


def _fields(text: str) -> str | dict[str, Any]:
    kind, *options = text.split()
    if not options:
        return kind
    fields: dict[str, Any] = {"kind": kind}
    for option in options:
        key, separator, value = option.lstrip("-").partition("=")
        if not option.startswith("-") or not separator:
            raise ValueError(f"{option!r} is not of the form -name=value")
        fields[key] = value.split(",") if key in ("mattr", "keys") else value
    return fields


def _bind(mod: tvm.IRModule, params: Mapping[str, Any]) -> tvm.IRModule:
    names = {param.name for param in mod["main"].params}
    unknown = sorted(set(params) - names)
    if unknown:
        raise QnnError(f"main has no parameter {', '.join(unknown)}")
    if not params:
        return mod
    return relax.transform.BindParams("main", dict(params))(mod)


def _metadata_function(signature: Signature) -> relax.Function:
    text = np.frombuffer(signature.to_json().encode(), np.uint8)
    builder = relax.BlockBuilder()
    with builder.function(METADATA, []):
        builder.emit_func_output(relax.const(text, "uint8"))
    return builder.get()[METADATA]
