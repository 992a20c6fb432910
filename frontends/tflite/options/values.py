"""Options of functions, arithmetic, states and subgraphs."""

from frontends.tflite.options.base import Options
from frontends.tflite.options.fields import Activation, Boundaries, Branches, Container, SharedName


class ArithmeticOptions(Options, tables="MulOptions DivOptions"):
    """Multiplication and division."""

    activation: Activation


class SumOptions(ArithmeticOptions, tables="AddOptions SubOptions"):
    """Sums; `pot_scale_int16` asks for shifts if all scales are powers of two."""

    pot_scale_int16: bool


class SoftmaxOptions(Options):
    """Softmax; `beta` multiplies the logits."""

    beta: float


class LeakyReluOptions(Options):
    """Leaky ReLU; `alpha` is the slope below zero."""

    alpha: float


class GeluOptions(Options):
    """GELU; `approximate` asks for the form by tanh."""

    approximate: bool


class FakeQuantOptions(Options):
    """Rounding to `num_bits` of numbers between two bounds; `narrow_range` drops the lowest."""

    min: float
    max: float
    num_bits: int
    narrow_range: bool


class LocalResponseNormalizationOptions(Options):
    """Normalization by neighbouring channels."""

    radius: int
    bias: float
    alpha: float
    beta: float


class BucketizeOptions(Options):
    """Boundaries of ranges of numbers, float32."""

    boundaries: Boundaries


class CumsumOptions(Options):
    """Running sums; without the element itself, or from the end."""

    exclusive: bool
    reverse: bool


class ReducerOptions(Options):
    """Reductions; the axes are an input."""

    keep_dims: bool


class IndexOptions(Options, tables="ArgMaxOptions ArgMinOptions"):
    """Index of an extreme element; `output_type` is "int32" or "int64"."""

    output_type: str


class VarHandleOptions(Options):
    """A variable that the subgraphs of a model share: its name."""

    container: Container
    shared_name: SharedName


class CallOnceOptions(Options):
    """A subgraph that runs before the first run, by its number."""

    init_subgraph_index: int


class WhileOptions(Options):
    """A loop: the numbers of the subgraphs of its condition and its body."""

    cond_subgraph_index: int
    body_subgraph_index: int


class IfOptions(Options):
    """A choice between two subgraphs: their numbers."""

    then_subgraph_index: int
    else_subgraph_index: int


class StablehloCaseOptions(Options):
    """A choice between several subgraphs: their numbers."""

    branch_subgraph_indices: Branches


class StableHLOCompositeOptions(Options):
    """An operator composed of others: the number of their subgraph."""

    decomposition_subgraph_index: int
