"""Names of the TFLite schema: enumerations, tables of options, and the package's accessors."""

from typing import Any

import tflite


def _members(enum: Any) -> dict[str, int]:
    return {name: value for name, value in vars(enum).items() if not name.startswith("_")}


# The package's schema is older than this operator, its options, and the types int2 and uint4.
OPERATORS = _members(tflite.BuiltinOperator) | {"STABLEHLO_CASE": 209}
DTYPES = {name.lower(): value for name, value in _members(tflite.TensorType).items()}
DTYPES |= {"int2": 19, "uint4": 20}
OPTIONS_TABLES = _members(tflite.BuiltinOptions)
LATER_OPTIONS_TABLES = _members(tflite.BuiltinOptions2) | {"StablehloCaseOptions": 23}
"""The tables that did not fit the first union of tables."""

# An operator's options table has the operator's name, except for these.
_SHARED_OPTIONS = {
    **dict.fromkeys(("AVERAGE_POOL_2D", "L2_POOL_2D", "MAX_POOL_2D"), "Pool2DOptions"),
    **dict.fromkeys(("MAXIMUM", "MINIMUM"), "MaximumMinimumOptions"),
    **dict.fromkeys(
        ("MEAN", "SUM", *(f"REDUCE_{name}" for name in ("ALL", "ANY", "MAX", "MIN", "PROD"))),
        "ReducerOptions",
    ),
    "CONV_3D_TRANSPOSE": "Conv3DOptions",
    "UNIDIRECTIONAL_SEQUENCE_RNN": "SequenceRNNOptions",
}
_TABLES_BY_NAME = {name.lower(): name for name in (*OPTIONS_TABLES, *LATER_OPTIONS_TABLES)}
OPTIONS_BY_OPERATOR = {
    code: name
    for code in OPERATORS
    for own in [code.replace("_", "").lower() + "options"]
    if (name := _SHARED_OPTIONS.get(code) or _TABLES_BY_NAME.get(own))
}

ENUM_FIELDS: dict[str, dict[str, int]] = {
    **dict.fromkeys(("in_data_type", "out_data_type", "out_type", "output_type"), DTYPES),
    "quantized_bias_type": DTYPES,
    "combiner": _members(tflite.CombinerType),
    "fused_activation_function": _members(tflite.ActivationFunctionType),
    "mode": _members(tflite.MirrorPadMode),
    "padding": _members(tflite.Padding),
    "reduce_function": _members(tflite.ReduceWindowFunction),
    "type": _members(tflite.LSHProjectionType),
    "weights_format": _members(tflite.FullyConnectedOptionsWeightsFormat),
}
"""Fields of options that are enumerations: their values by name."""


class _StablehloCaseOptions(tflite.SqueezeOptions):
    """One vector of int32, in the slot of SqueezeOptions' vector."""

    BranchSubgraphIndicesAsNumpy = tflite.SqueezeOptions.SqueezeDimsAsNumpy
    BranchSubgraphIndicesLength = tflite.SqueezeOptions.SqueezeDimsLength


MEMBERS: dict[str, Any] = vars(tflite) | {
    "StablehloCaseOptions": _StablehloCaseOptions,
    "StablehloCaseOptionsStart": tflite.SqueezeOptionsStart,
    "StablehloCaseOptionsStartBranchSubgraphIndicesVector": (
        tflite.SqueezeOptionsStartSqueezeDimsVector
    ),
    "StablehloCaseOptionsAddBranchSubgraphIndices": tflite.SqueezeOptionsAddSqueezeDims,
    "StablehloCaseOptionsEnd": tflite.SqueezeOptionsEnd,
}
"""Classes that read tables, and functions that write them, by the names that the package gives."""


class _Vectors:
    """Stands for the contents of any table: each of its vectors is the name of its dtype."""

    def Offset(self, slot: int) -> int:
        return slot

    def GetVectorAsNumpy(self, flags: Any, offset: int) -> str:
        del offset
        return str(flags.name)


def vector_dtype(table: str, field: str) -> str:
    """Return the dtype of a vector of options."""
    options = MEMBERS[table]()
    options._tab = _Vectors()
    return str(getattr(options, f"{pascal_case(field)}AsNumpy")())


def pascal_case(field: str) -> str:
    """Return a field in the spelling of the `tflite` package: stride_h is StrideH."""
    return "".join(part[:1].upper() + part[1:] for part in field.split("_"))


def by_value(enum: dict[str, int]) -> dict[int, str]:
    """Return the names of an enumeration by value."""
    return {value: name for name, value in enum.items()}
