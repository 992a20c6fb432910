"""The tables from operator to conversion rule, and the choice between them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tvm import relax

from frontends.errors import UnsupportedError
from frontends.tflite.converters.context import Context
from frontends.tflite.converters.plain import (
    EIGHT_BITS,
    are_plain,
    check_quantized,
    is_signed,
    lacks_one_scale,
    with_unit_scale,
)
from frontends.tflite.converters.signed_scales import (
    COMPLEMENTED,
    LAYERS,
    is_complemented,
    with_complements,
    with_positive_scales,
)
from frontends.tflite.model import Model, Operator, Tensor

Rule = Callable[[Context], "relax.Expr | list[relax.Expr]"]
"""Gives the expression of the operator's output, or a list of them if it has several."""

QUANTIZED: dict[str, Rule] = {}
"""Rules for operators on int8 and uint8 tensors, in integers and exact."""

FLOAT: dict[str, Rule] = {}
"""Rules for operators on float32 tensors."""

INT16: dict[str, Rule] = {}
"""Rules for operators on int16 tensors, in integers and exact."""

WHOLE: dict[str, Rule] = {}
"""Rules for operators on int32, int64 or bool tensors, which mean themselves."""

UNSCALED: dict[str, Rule] = {}
"""Rules for operators on int8, uint8 or int16 tensors where one or more have no scale."""

HYBRID: dict[str, Rule] = {}
BY_BLOCK: dict[str, Rule] = {}
"""Rules for operators on float32 tensors with 8-bit weights, which are the second operand."""

DATA: dict[str, Rule] = {}
"""Rules for operators that move or convert data of any type."""

FLEX: dict[str, Rule] = {}
"""Rules for TensorFlow's own operators, which LiteRT runs if it is linked with them."""

# They are imported where their operands are constant.
_OF_DATA = ("RANGE", "UNIQUE", "WHERE")
_RANDOM = (
    *("MULTINOMIAL", "RANDOM_STANDARD_NORMAL", "RANDOM_UNIFORM", "STABLEHLO_RNG_BIT_GENERATOR"),
)
# What compilers and libraries of vendors write: there is no more of the model in it than they read.
_VENDORS = {
    "edgetpu-custom-op": "is code for Coral's Edge TPU; import the file that edgetpu_compiler read",
    "ethos-u": "is code for Arm's Ethos-U; import the file that vela read",
    "NeutronGraph": "is code for NXP's eIQ Neutron; import the file that its converter read",
    "PosenetDecoderOp": "is Coral's decoder of poses, which its library runs on a processor",
}
_CONVERSIONS = ("CAST", "DEQUANTIZE", "QUANTIZE")
_OF_TWO_BITS = (*_CONVERSIONS, "EMBEDDING_LOOKUP", "FULLY_CONNECTED")
# What LiteRT's kernels read and write of numbers that the run packs, several to a byte.
_OF_PACKED = {
    "int2": _CONVERSIONS,
    "int4": (
        *(*_CONVERSIONS, "CONCATENATION", "DYNAMIC_UPDATE_SLICE", "EXPAND_DIMS", "GATHER"),
        *("RESHAPE", "SLICE", "SQUEEZE", "TRANSPOSE"),
    ),
}

_EIGHT_BITS = set(EIGHT_BITS)

_WIDENING = ("SOFTMAX",)
"""Operators that may give int16 of 8-bit data."""


def _register(table: dict[str, Rule], codes: Sequence[str]) -> Callable[[Rule], Rule]:
    def decorate(rule: Rule) -> Rule:
        table.update(dict.fromkeys(codes, rule))
        return rule

    return decorate


def converter(*codes: str) -> Callable[[Rule], Rule]:
    """Register a rule for operators on quantized tensors."""
    return _register(QUANTIZED, codes)


def float_converter(*codes: str) -> Callable[[Rule], Rule]:
    """Register a rule for operators on float32 tensors.

    Quantized operators without a rule of their own use it between dequantize and quantize.
    """
    return _register(FLOAT, codes)


def int16_converter(*codes: str) -> Callable[[Rule], Rule]:
    """Register a rule for operators on int16 tensors; their weights may be int8."""
    return _register(INT16, codes)


def unscaled_converter(*codes: str) -> Callable[[Rule], Rule]:
    """Register a rule for operators on 8- or 16-bit tensors where one or more have no scale.

    Types that no rule of quantized tensors takes do not come here.
    """
    return _register(UNSCALED, codes)


def whole_converter(*codes: str) -> Callable[[Rule], Rule]:
    """Register a rule for operators on int32, int64 or bool tensors."""
    return _register(WHOLE, codes)


def hybrid_converter(*codes: str) -> Callable[[Rule], Rule]:
    """Register a rule for operators on float32 tensors with 8-bit weights."""
    return _register(HYBRID, codes)


def block_converter(*codes: str) -> Callable[[Rule], Rule]:
    """Register a rule for operators on float32 tensors whose weights have scales by block."""
    return _register(BY_BLOCK, codes)


def data_converter(*codes: str) -> Callable[[Rule], Rule]:
    """Register a rule for operators that take tensors of any type."""
    return _register(DATA, codes)


def flex_converter(*codes: str) -> Callable[[Rule], Rule]:
    """Register a rule for TensorFlow's own operators."""
    return _register(FLEX, codes)


def rule_for(model: Model, operator: Operator) -> tuple[Rule, bool]:
    """Return an operator's rule, and whether it is a float rule for quantized tensors.

    Raises:
        UnsupportedError: there is none.
        QnnError: the operator's tensors lack quantization.
    """
    rule, is_fallback = _rule_for(model, operator)
    inputs = (model.tensors[index] for index in operator.inputs if index >= 0)
    if operator.code in COMPLEMENTED and any(map(is_complemented, inputs)):
        rule = with_complements(rule)
    return rule, is_fallback


def _rule_for(model: Model, operator: Operator) -> tuple[Rule, bool]:
    code = operator.code
    _check_strings(model, operator)
    _check_packed(model, operator)
    for position, index in enumerate(operator.inputs):
        if index >= 0 and model.tensors[index].blocks:
            if code not in BY_BLOCK or position != 1:
                raise UnsupportedError(f"{model.tensors[index].label} has scales by block")
            return BY_BLOCK[code], False
    for table in (DATA, FLEX):
        if code in table:
            return table[code], False
    if code.startswith("CUSTOM:"):
        name = code.removeprefix("CUSTOM:")
        what = _VENDORS.get(name, "is no operator of LiteRT's own")
        if name.startswith("Flex"):
            what = f"is TensorFlow's {name.removeprefix('Flex')}, no operator of LiteRT's own"
        raise UnsupportedError(what + _hint(model, operator))
    if code in _OF_DATA:
        raise UnsupportedError("the shape of its result depends on the data of a run")
    if code in _RANDOM:
        raise UnsupportedError("its results are random numbers, others in every run")
    if not any(code in table for table in (QUANTIZED, FLOAT, HYBRID, WHOLE)):
        raise UnsupportedError("no conversion rule")
    inputs = [model.tensors[index] for index in operator.inputs if index >= 0]
    outputs = [model.tensors[index] for index in operator.outputs]
    if code in HYBRID and _is_hybrid(code, inputs):
        check_quantized(inputs)
        return HYBRID[code], False
    # A run may compute a dense layer's weights, too; of int16 data they are int8.
    data = inputs[:1] + inputs[2:] if code == "FULLY_CONNECTED" else inputs
    activations = {tensor.dtype for tensor in data if not tensor.is_constant}
    dtypes = activations | {tensor.dtype for tensor in outputs}
    table = INT16 if dtypes == {"int16"} else QUANTIZED
    if dtypes == {"int16"} or dtypes <= _EIGHT_BITS:
        tensors = [*inputs, *outputs]
        if code in table and are_plain(operator, tensors):
            return with_unit_scale(table[code]), False
        if code in table and code in UNSCALED and any(map(lacks_one_scale, tensors)):
            return UNSCALED[code], False
        if code in table or dtypes <= _EIGHT_BITS:
            check_quantized(tensors)
        if code in table:
            is_layer = code in LAYERS and any(map(is_signed, tensors))
            return with_positive_scales(table[code]) if is_layer else table[code], False
        if code in FLOAT and dtypes <= _EIGHT_BITS:
            return FLOAT[code], True
    if code in _WIDENING and activations <= _EIGHT_BITS and dtypes - activations == {"int16"}:
        check_quantized([*inputs, *outputs])
        return QUANTIZED[code], False
    _check_not_hybrid(activations, inputs)
    if dtypes == {"float32"} and code in FLOAT:
        return FLOAT[code], False
    if dtypes in ({"int32"}, {"int64"}, {"bool"}) and code in WHOLE:
        return WHOLE[code], False
    shapes = [t.label for t in inputs if not t.is_constant and t.dtype in ("int32", "int64")]
    if shapes and {tensor.dtype for tensor in outputs}.isdisjoint(("int32", "int64", "bool")):
        # Such as paddings, axes or the shape of the result.
        raise UnsupportedError(f"{', '.join(shapes)} must be constant")
    raise UnsupportedError(f"no conversion rule for tensors of type {', '.join(sorted(dtypes))}")


def _check_strings(model: Model, operator: Operator) -> None:
    """Raise if an operator reads or gives strings."""
    indices = [index for index in (*operator.inputs, *operator.outputs) if index >= 0]
    found = [model.tensors[index] for index in indices if model.tensors[index].dtype == "string"]
    if found:
        raise UnsupportedError(f"{found[0].label} is of type string")


def _check_packed(model: Model, operator: Operator) -> None:
    """Raise if LiteRT's reference kernels read packed numbers as if they were others."""
    indices = [index for index in (*operator.inputs, *operator.outputs) if index >= 0]
    packed = [model.tensors[index] for index in indices if model.tensors[index].packed]
    for tensor in packed:
        known: Sequence[str] = _OF_PACKED[tensor.packed]
        if tensor.is_constant:
            known = _OF_TWO_BITS if tensor.packed == "int2" else (operator.code,)
        if operator.code not in known:
            raise UnsupportedError(
                f"{tensor.label} is {tensor.packed}, which LiteRT does not unpack there"
            )
    if all(tensor.is_constant for tensor in packed) or operator.code in _CONVERSIONS:
        return
    of_bytes = [model.tensors[index] for index in indices if model.tensors[index].dtype == "int8"]
    kinds = sorted({tensor.packed or tensor.dtype for tensor in of_bytes})
    if len(kinds) > 1:
        raise UnsupportedError(f"tensors of {' and '.join(kinds)}")


def _is_hybrid(code: str, inputs: Sequence[Tensor]) -> bool:
    """Tell whether data is not quantized, and weights are bytes."""
    if code == "TRANSPOSE_CONV":  # the first operand is a shape
        inputs = inputs[2:0:-1]
    dtypes = [tensor.dtype for tensor in inputs[:2]]
    return len(dtypes) == 2 and dtypes[0] not in (*EIGHT_BITS, "int16") and dtypes[1] in EIGHT_BITS


def _hint(model: Model, operator: Operator) -> str:
    """Name what an operator reads of what others compute, if there is something."""
    computed = set(model.computed)
    read = [model.tensors[index].name for index in operator.inputs if index in computed]
    if not read:
        return ""
    return (
        "; what comes before it can be imported by itself: name tensors of the model in outputs, "
        f"such as {read}"
    )


def _check_not_hybrid(activations: set[str], inputs: Sequence[Tensor]) -> None:
    weights = {tensor.dtype for tensor in inputs if tensor.is_constant} & _EIGHT_BITS
    if "float32" in activations and weights:
        raise UnsupportedError(
            f"float32 activations with {weights.pop()} weights, for which there is no hybrid rule"
        )
