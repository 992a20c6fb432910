"""The names and quantization of a model's inputs and outputs, kept with its function.

Importers attach them to ``main``. Code that builds or runs the module reads them. One JSON
attribute stores them, so that they survive TVMScript, JSON and every pass.
"""

from collections.abc import Mapping, Sequence

import tvm
from tvm import relax

from qnn_ops.dialect.registry import TensorSpec, spec_of, type_spec
from qnn_ops.dialect.sizes import Size
from qnn_ops.dialect.tensor_info import OpenSize
from qnn_ops.dialect.tensor_info import Signature as Signature
from qnn_ops.dialect.tensor_info import TensorInfo as TensorInfo
from qnn_ops.errors import QnnError

ATTRIBUTE = "qnn_signature"

ARITHMETIC = "arithmetic"
"""The attribute that names the framework whose integers a function's quantization groups mean."""

# These are TVM's names.
_LOW, _HIGH = "tir_var_lower_bound", "tir_var_upper_bound"


def with_signature(function: relax.Function, signature: Signature) -> relax.Function:
    """Return the function with ``signature`` attached."""
    return function.with_attr(ATTRIBUTE, signature.to_json())


def main_function(mod: tvm.IRModule) -> relax.Function:
    """Return the module's function ``main``, which is the model.

    Raises:
        QnnError: if ``main`` is missing or not a Relax function, or ``mod`` is no module.
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

    A module without a signature, such as a hand-written one, is described by its types. Inputs have
    their parameters' names; outputs are ``output0``, ``output1`` and so on.

    Raises:
        QnnError: if the module has no Relax function ``main``, or a shape is unknown.
    """
    main = main_function(mod)
    if main.attrs is not None and ATTRIBUTE in main.attrs:
        return Signature.from_json(str(main.attrs[ATTRIBUTE]))
    bounds = bounds_of(main)
    inputs = tuple(_info(name, spec, bounds) for name, spec in parameter_specs(main).items())
    result = main.ret_ty
    fields: Sequence[relax.Type] = (
        result.fields if isinstance(result, relax.TupleType) else (result,)
    )
    outputs = tuple(
        _info(f"output{i}", type_spec(field, f"main's output {i}"), bounds)
        for i, field in enumerate(fields)
    )
    return Signature(inputs, outputs)


def parameter_specs(main: relax.Function) -> dict[str, TensorSpec]:
    """Return shape and dtype of each parameter of a function ``main``, by name.

    Raises:
        QnnError: if a parameter is no tensor, or its shape is unknown.
    """
    return {param.name: spec_of(param, f"main's parameter {param.name!r}") for param in main.params}


Bounds = Mapping[str, tuple[int, "int | None"]]
"""The least and the largest size by the names of open sizes; None if there is no largest."""


def with_bounds(function: relax.Function, bounds: Bounds) -> relax.Function:
    """Return the function with bounds of its open sizes. TVM plans memory by them."""
    function = function.with_attr(_LOW, {name: low for name, (low, _) in bounds.items()})
    highs = {name: high for name, (_, high) in bounds.items() if high is not None}
    return function.with_attr(_HIGH, highs) if highs else function


def without_bounds(function: relax.Function) -> relax.Function:
    """Return the function without bounds of its open sizes."""
    return function.without_attr(_LOW).without_attr(_HIGH)


def bounds_of(function: relax.Function) -> dict[str, tuple[int, int | None]]:
    """Return the bounds of a function's open sizes."""
    lows, highs = ((function.attrs or {}).get(key) or {} for key in (_LOW, _HIGH))
    ends = {str(name): int(high) for name, high in highs.items()}
    return {str(name): (int(low), ends.get(str(name))) for name, low in lows.items()} | {
        name: (1, high) for name, high in ends.items() if name not in map(str, lows)
    }


def named_sizes(shape: Sequence[int], bounds: Bounds) -> tuple[int, ...]:
    """Return a shape whose open sizes have names and bounds, for a ``TensorInfo``."""
    return tuple(_named(size, bounds) if isinstance(size, Size) else size for size in shape)


def _named(size: Size, bounds: Bounds) -> OpenSize:
    name = str(size)
    if name in bounds:
        return OpenSize(name, *bounds[name])
    lows = {str(each.name): bounds.get(str(each.name), (1, None))[0] for each in size.variables()}
    return OpenSize(name, OpenSize(name).value(lows) or 1)


def _info(name: str, spec: TensorSpec, bounds: Bounds) -> TensorInfo:
    return TensorInfo(name, named_sizes(spec.shape, bounds), spec.dtype)
