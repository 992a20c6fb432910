"""Names and quantization of a model's inputs and outputs, kept with its function.

Importers attach them to ``main``; code that builds or runs the module reads them. They are stored
as one JSON attribute, so that they survive TVMScript, JSON and every pass.
"""

from __future__ import annotations

from collections.abc import Sequence

import tvm
from tvm import relax

from qnn_ops.errors import QnnError
from qnn_ops.registry import TensorSpec, spec_of, type_spec
from qnn_ops.tensor_info import Signature, TensorInfo

__all__ = [
    "ARITHMETIC",
    "ATTRIBUTE",
    "Signature",
    "TensorInfo",
    "main_function",
    "parameter_specs",
    "signature_of",
    "with_signature",
]

ATTRIBUTE = "qnn_signature"

ARITHMETIC = "arithmetic"
"""The attribute that says whose integers a function's quantize-dequantize groups mean."""


def with_signature(function: relax.Function, signature: Signature) -> relax.Function:
    """Return the function with ``signature`` attached."""
    return function.with_attr(ATTRIBUTE, signature.to_json())


def main_function(mod: tvm.IRModule) -> relax.Function:
    """Return the module's function ``main``, which is the model.

    Raises:
        QnnError: if there is none, it is not a Relax function, or ``mod`` is no module.
    """
    if not isinstance(mod, tvm.IRModule):
        raise QnnError(
            f"a model is an IRModule, got {type(mod).__name__}; importers return one, and its "
            "parameters beside it"
        )
    if "main" not in [variable.name_hint for variable in mod.get_global_vars()]:
        raise QnnError("the module has no function named main")
    main = mod["main"]
    if not isinstance(main, relax.Function):
        raise QnnError("the module's main is not a Relax function")
    return main


def signature_of(mod: tvm.IRModule) -> Signature:
    """Return the signature of ``mod``'s main function.

    A module without one, such as a hand-written one, is described by its types: inputs by their
    parameters' names, outputs as ``output0``, ``output1`` and so on.

    Raises:
        QnnError: if the module has no Relax function ``main``, or a shape is not static.
    """
    main = main_function(mod)
    if main.attrs is not None and ATTRIBUTE in main.attrs:
        return Signature.from_json(str(main.attrs[ATTRIBUTE]))
    inputs = tuple(_info(name, spec) for name, spec in parameter_specs(main).items())
    result = main.ret_ty
    fields: Sequence[relax.Type] = (
        result.fields if isinstance(result, relax.TupleType) else (result,)
    )
    outputs = tuple(
        _info(f"output{i}", type_spec(field, f"main's output {i}"))
        for i, field in enumerate(fields)
    )
    return Signature(inputs, outputs)


def parameter_specs(main: relax.Function) -> dict[str, TensorSpec]:
    """Return shape and dtype of each parameter of a function ``main``, by name.

    Raises:
        QnnError: if one is no tensor, or its shape is not static.
    """
    return {param.name: spec_of(param, f"main's parameter {param.name!r}") for param in main.params}


def _info(name: str, spec: TensorSpec) -> TensorInfo:
    return TensorInfo(name, spec.shape, spec.dtype)
