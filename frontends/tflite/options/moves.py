"""Options of operators that move values."""

from frontends.tflite.options.base import Options
from frontends.tflite.options.fields import Activation, Dims, NewShape, NumSplits


class ConcatenationOptions(Options):
    """Concatenation; a negative `axis` counts from the end."""

    axis: int
    activation: Activation


class ReshapeOptions(Options):
    """Reshape; `new_shape` may hold one -1, and is None if only an input states it."""

    new_shape: NewShape


class SqueezeOptions(Options):
    """Squeeze; no `dims` means all dimensions that are 1, negative ones count from the end."""

    dims: Dims


class ResizeOptions(Options, tables="ResizeBilinearOptions ResizeNearestNeighborOptions"):
    """Resizes: the positions of pixels."""

    align_corners: bool
    half_pixel_centers: bool


class StridedSliceOptions(Options):
    """Strided slice; bit i of a mask is about entry i of begin, end and strides.

    `offset` means that end is counted from begin.
    """

    begin_mask: int
    end_mask: int
    ellipsis_mask: int
    new_axis_mask: int
    shrink_axis_mask: int
    offset: bool


class SplitOptions(Options, tables="SplitOptions SplitVOptions"):
    """Split into parts; the axis is an input, and so are unequal sizes."""

    num_splits: NumSplits


class MirrorPadOptions(Options):
    """Mirror padding; `mode` is "REFLECT" or "SYMMETRIC"."""

    mode: str


class ReverseSequenceOptions(Options):
    """Reversal of the first elements along ``seq_dim``, in each of the batches."""

    seq_dim: int
    batch_dim: int


class PackOptions(Options):
    """Stack; `axis` is the new axis, a negative one counts from the end of the result's axes."""

    axis: int


class UnpackOptions(Options):
    """Parts of size 1 along an axis, without the axis."""

    num: int
    axis: int


class GatherOptions(Options):
    """Elements at indices along an axis, for each element of the first `batch_dims` axes."""

    axis: int
    batch_dims: int


class EmbeddingLookupSparseOptions(Options):
    """The way to combine the rows of one index: "SUM", "MEAN" or "SQRTN"."""

    combiner: str


class LSHProjectionOptions(Options):
    """Whether signs are bits of numbers, "SPARSE", or numbers themselves, "DENSE"."""

    type: str


class OneHotOptions(Options):
    """One-hot; `axis` is the new axis, -1 means the last."""

    axis: int


class BlockOptions(Options, tables="DepthToSpaceOptions SpaceToDepthOptions"):
    """Blocks from channels, and the reverse."""

    block_size: int


class ShapeOptions(Options):
    """Shape of a tensor; `out_type` is "int32" or "int64"."""

    out_type: str


class StablehloPadOptions(Options):
    """The padding of each axis: before it, after it, and between two neighbours."""

    edge_padding_low: tuple[int, ...]
    edge_padding_high: tuple[int, ...]
    interior_padding: tuple[int, ...]


class StablehloGatherOptions(Options):
    """The axes of the result that come from a slice, and the axes of the data of an index."""

    offset_dims: tuple[int, ...]
    collapsed_slice_dims: tuple[int, ...]
    start_index_map: tuple[int, ...]
    index_vector_dim: int
    slice_sizes: tuple[int, ...]


class StablehloScatterOptions(Options):
    """The axes of updates that belong to a slice, and the axes of the data that an index names."""

    update_window_dims: tuple[int, ...]
    inserted_window_dims: tuple[int, ...]
    scatter_dims_to_operand_dims: tuple[int, ...]
    index_vector_dim: int
    update_computation_subgraph_index: int


class StablehloReduceWindowOptions(Options):
    """Windows, and the number of the subgraph that combines two numbers.

    `padding` is two numbers for each axis; `base_dilations` is the distance of the data's
    elements.
    """

    window_dimensions: tuple[int, ...]
    window_strides: tuple[int, ...]
    base_dilations: tuple[int, ...]
    window_dilations: tuple[int, ...]
    padding: tuple[int, ...]
    body_subgraph_index: int


class ReduceWindowOptions(Options):
    """The way to combine a window: "ADD", "MUL", "MINIMUM", "MAXIMUM", "ALL" or "ANY"."""

    reduce_function: str
