"""Reads the options of an operator: the fields of its table that the importer uses."""

from collections.abc import Callable
from functools import cache
from types import SimpleNamespace
from typing import Any

from frontends.errors import ModelFormatError
from frontends.tflite.flatbuffer import Table
from frontends.tflite.schema import (
    ENUM_FIELDS,
    LATER_OPTIONS_TABLES,
    MEMBERS,
    OPTIONS_BY_OPERATOR,
    OPTIONS_TABLES,
    by_value,
    pascal_case,
    vector_dtype,
)

_TABLE_NAMES = {"": by_value(OPTIONS_TABLES), "2": by_value(LATER_OPTIONS_TABLES)}

_LSTM = "activation cell_clip proj_clip"
_RNN = "time_major activation asymmetric_quantize_inputs"
TABLES = {
    "AddOptions": "activation pot_scale_int16",
    "ArgMaxOptions": "output_type",
    "ArgMinOptions": "output_type",
    "BatchMatMulOptions": "adj_x adj_y asymmetric_quantize_inputs",
    "BidirectionalSequenceLSTMOptions": (
        f"{_LSTM} time_major asymmetric_quantize_inputs merge_outputs"
    ),
    "BidirectionalSequenceRNNOptions": f"{_RNN} merge_outputs",
    "BucketizeOptions": "boundaries",
    "CallOnceOptions": "init_subgraph_index",
    "ConcatenationOptions": "axis activation",
    "Conv2DOptions": "padding stride dilation activation quantized_bias_type",
    "Conv3DOptions": "padding stride dilation activation",
    "CumsumOptions": "exclusive reverse",
    "DepthToSpaceOptions": "block_size",
    "DepthwiseConv2DOptions": "padding stride dilation depth_multiplier activation",
    "DivOptions": "activation",
    "EmbeddingLookupSparseOptions": "combiner",
    "FakeQuantOptions": "min max num_bits narrow_range",
    "FullyConnectedOptions": (
        "activation keep_num_dims weights_format asymmetric_quantize_inputs quantized_bias_type"
    ),
    "GatherOptions": "axis batch_dims",
    "GeluOptions": "approximate",
    "IfOptions": "then_subgraph_index else_subgraph_index",
    "LSHProjectionOptions": "type",
    "LSTMOptions": f"{_LSTM} kernel_type asymmetric_quantize_inputs",
    "LeakyReluOptions": "alpha",
    "LocalResponseNormalizationOptions": "radius bias alpha beta",
    "MirrorPadOptions": "mode",
    "MulOptions": "activation",
    "OneHotOptions": "axis",
    "PackOptions": "axis",
    "Pool2DOptions": "padding stride filter activation",
    "RNNOptions": "activation asymmetric_quantize_inputs",
    "ReduceWindowOptions": "reduce_function",
    "ReducerOptions": "keep_dims",
    "ReshapeOptions": "new_shape",
    "ResizeBilinearOptions": "align_corners half_pixel_centers",
    "ResizeNearestNeighborOptions": "align_corners half_pixel_centers",
    "ReverseSequenceOptions": "seq_dim batch_dim",
    "SVDFOptions": "rank activation asymmetric_quantize_inputs",
    "SequenceRNNOptions": _RNN,
    "ShapeOptions": "out_type",
    "SoftmaxOptions": "beta",
    "SpaceToDepthOptions": "block_size",
    "SplitOptions": "num_splits",
    "SplitVOptions": "num_splits",
    "SqueezeOptions": "dims",
    "StableHLOCompositeOptions": "decomposition_subgraph_index",
    "StablehloCaseOptions": "branch_subgraph_indices",
    "StablehloGatherOptions": (
        "offset_dims collapsed_slice_dims start_index_map index_vector_dim slice_sizes"
    ),
    "StablehloPadOptions": "edge_padding_low edge_padding_high interior_padding",
    "StablehloReduceWindowOptions": (
        "window_dimensions window_strides base_dilations window_dilations padding "
        "body_subgraph_index"
    ),
    "StablehloScatterOptions": (
        "update_window_dims inserted_window_dims scatter_dims_to_operand_dims index_vector_dim "
        "update_computation_subgraph_index"
    ),
    "StridedSliceOptions": (
        "begin_mask end_mask ellipsis_mask new_axis_mask shrink_axis_mask offset"
    ),
    "SubOptions": "activation pot_scale_int16",
    "TransposeConvOptions": "padding stride activation quantized_bias_type",
    "UnidirectionalSequenceLSTMOptions": f"{_LSTM} time_major asymmetric_quantize_inputs",
    "UnpackOptions": "num axis",
    "VarHandleOptions": "container shared_name",
    "WhileOptions": "cond_subgraph_index body_subgraph_index",
}
"""The fields of each table that the importer reads; hints to other runtimes are left out."""


class Options(SimpleNamespace):
    """The options of an operator: the fields that ``TABLES`` lists for its table.

    The schema describes them. ``stride``, ``dilation`` and ``filter`` are (height, width), of
    volumes (depth, height, width). Enumerations are names. Vectors are tuples.

    Attributes:
        activation: the function that is fused into the operator.
        dims: the dimensions to squeeze; none means all that are 1.
        kernel_type: of LSTM, 0 for a tensor of weights for each gate.
        new_shape: None if only an input states it.
        offset: whether STRIDED_SLICE counts end from begin. Bit i of each mask of STRIDED_SLICE is
            about entry i of begin, end and strides.
        pot_scale_int16: asks for shifts if all scales are powers of two.
        quantized_bias_type: that of the bias beside int16 data, "float32" where it is not stated.
        rank: the number of filters that make one result of SVDF.
        time_major: whether steps come before the batch.
    """

    # The values of tables without these fields.
    activation: str = "NONE"
    pot_scale_int16: bool = False
    time_major: bool = False


def read_options(code: str, operator: Table) -> Options:
    """Read an operator's options.

    Args:
        code: the operator's name, for instance "CONV_2D".
        operator: the operator's table.

    Returns:
        The options, with the schema's default values if the file has none for this operator; they
        are empty if the importer reads no options of the operator.

    Raises:
        ModelFormatError: the file has another operator's options, or invalid values.
    """
    needed = OPTIONS_BY_OPERATOR.get(code, "")
    if needed not in TABLES:
        return Options()
    where = f"{operator.where} options"
    accessor_type = MEMBERS[needed]
    union = "2" if needed in LATER_OPTIONS_TABLES else ""
    number = int(operator.scalar(f"BuiltinOptions{union}Type"))
    name = _TABLE_NAMES[union].get(number, f"number {number}")
    if name not in (needed, "NONE"):
        raise ModelFormatError(f"{where}: are {name}, needs {needed}")
    table = (
        None if name == "NONE" else operator.union(f"BuiltinOptions{union}", accessor_type, where)
    )
    table = table or Table.empty(accessor_type, where)
    return Options(**{field: read(table) for field, read in _readers(needed).items()})


Reader = Callable[[Table], Any]

# Numbers that must be above zero.
_POSITIVE = {
    "dilation": ("DilationDFactor", "DilationHFactor", "DilationWFactor"),
    "filter": ("FilterHeight", "FilterWidth"),
    "stride": ("StrideD", "StrideH", "StrideW"),
}
_SPECIAL: dict[str, Reader] = {
    "boundaries": lambda table: table.vector("Boundaries", "float32"),
    "container": lambda table: table.string("Container"),
    "new_shape": lambda table: None if table.is_absent("NewShape") else table.integers("NewShape"),
    "num_splits": lambda table: table.positive("NumSplits")[0],
    "shared_name": lambda table: table.string("SharedName"),
}
_SCHEMA_NAMES = {"activation": "fused_activation_function", "dims": "squeeze_dims"}


@cache
def _readers(table: str) -> dict[str, Reader]:
    return {field: _reader(table, field) for field in TABLES[table].split()}


def _reader(table: str, field: str) -> Reader:
    """Return the function that reads a field, by the field's type in the schema."""
    if field in _SPECIAL:
        return _SPECIAL[field]
    members = MEMBERS[table]
    if field in _POSITIVE:
        parts = [part for part in _POSITIVE[field] if hasattr(members, part)]
        return lambda table: table.positive(*parts)
    name = _SCHEMA_NAMES.get(field, field)
    accessor = pascal_case(name)
    if hasattr(members, f"{accessor}AsNumpy"):
        dtype = vector_dtype(table, name)
        return lambda table: tuple(table.vector(accessor, dtype).tolist())
    if name in ENUM_FIELDS:
        names = by_value(ENUM_FIELDS[name])
        return lambda table: table.enum(accessor, names)
    return lambda table: table.number(accessor)
