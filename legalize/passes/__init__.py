"""Whole-graph rewrites from IRModule to IRModule, one idea in each file."""

from legalize.passes.channels_last import ChannelsLast
from legalize.passes.copy_rows import CopyRows
from legalize.passes.drop_constant_channels import DropConstantChannels
from legalize.passes.fold_clamps import FoldClamps
from legalize.passes.fold_constants import FoldConstants
from legalize.passes.fold_float_ends import FoldFloatEnds
from legalize.passes.fold_pads import FoldPads
from legalize.passes.fold_qdq import FoldQdq
from legalize.passes.fuse_lookups import FuseLookups
from legalize.passes.fuse_sums import FuseSums
from legalize.passes.in_strips import InStrips
from legalize.passes.inline_elementwise import InlineElementwise
from legalize.passes.interleave_vectors import InterleaveVectors
from legalize.passes.join_in_place import JoinInPlace
from legalize.passes.join_in_steps import JoinInSteps
from legalize.passes.join_rows import JoinRows
from legalize.passes.legalize_ops import LegalizeOps
from legalize.passes.legalize_qnn import LegalizeQnn
from legalize.passes.merge_loops import MergeLoops
from legalize.passes.multiply_floats import MultiplyFloats
from legalize.passes.one_function import OneFunction
from legalize.passes.one_item import OneItem
from legalize.passes.order_reductions import OrderReductions
from legalize.passes.over_batch import OverBatch
from legalize.passes.pad_in_place import PadInPlace
from legalize.passes.prefer_signedness import PreferSignedness
from legalize.passes.scale_sums import ScaleSums
from legalize.passes.share_storage import ShareStorage
from legalize.passes.split_words import SplitWords
from legalize.passes.tabulate_bytes import TabulateBytes
from legalize.passes.tabulate_floats import TabulateFloats
from legalize.passes.transpose_bytes import TransposeBytes
from legalize.passes.use_kernels import UseKernels

__all__ = [
    "ChannelsLast",
    "CopyRows",
    "DropConstantChannels",
    "FoldClamps",
    "FoldConstants",
    "FoldFloatEnds",
    "FoldPads",
    "FoldQdq",
    "FuseLookups",
    "FuseSums",
    "InStrips",
    "InlineElementwise",
    "InterleaveVectors",
    "JoinInPlace",
    "JoinInSteps",
    "JoinRows",
    "LegalizeOps",
    "LegalizeQnn",
    "MergeLoops",
    "MultiplyFloats",
    "OneFunction",
    "OneItem",
    "OrderReductions",
    "OverBatch",
    "PadInPlace",
    "PreferSignedness",
    "ScaleSums",
    "ShareStorage",
    "SplitWords",
    "TabulateBytes",
    "TabulateFloats",
    "TransposeBytes",
    "UseKernels",
]
