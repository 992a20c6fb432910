"""Winograd's minimal filtering in integers: two outputs of three taps in four products, F(2, 3).

For outputs y and taps g along one axis, y = Aᵀ[(G·g) ⊙ (Bᵀ·d)] with four values d of the data
(Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks", 2015, section 4.1). B and A
consist of 0, 1 and -1, and so does G after doubling, except for two 2s: then y is doubled, and
nothing is ever rounded. Along both axes a kernel of 3 × 3 takes 16 products for four outputs,
instead of 36. The sums are four times the convolution's.

Products of transformed values take 16 bits: two instructions, vpmaddwd and a sum, replace three for
twice as many products of bytes.

If one instruction multiplies and adds four bytes, and one two words (vpdpwssd), F(2, 3) would gain
little. F(4, 3) computes four outputs in six products: 36 for 16 outputs of a 3 × 3 kernel, instead
of 144. Its matrices are those of the points 0, ±1, ±2 and infinity. Weights are multiplied by 24
along each axis, so that all are integers. The weights of the last position are multiplied by 12,
and outputs take twice its sum. Then weights of bytes fit in 16 bits, and so does the data. Outputs
are 576 times as large, and intermediate results may leave int32. But all arithmetic is modulo 2^32:
times the inverse of 9, outputs are 64 times as large, which is right if that fits in int32.
"""

from dataclasses import dataclass
from functools import cached_property, reduce

import numpy as np

from legalize.kernels.conv2d.spec import ConvSpec
from legalize.kernels.conv2d.x86.winograd.combine import Factors, Matrix
from legalize.kernels.ir.vectors import Array
from qnn_ops.arithmetic.accumulator_bounds import signed_sums

_MAX_SUM = 2**31 - 1
_MAX_DATA = 255


@dataclass(frozen=True)
class Axis:
    """The transforms of one axis, matrices in rows.

    Attributes:
        data: Bᵀ, of the data, in factors.
        weights: G times ``scale``.
        outputs: Aᵀ, of the sums of products.
        scale: the factor by which the outputs are too large.
    """

    data: Factors
    weights: Matrix
    outputs: Matrix
    scale: int

    @property
    def tile_outputs(self) -> int:
        """Outputs of a tile."""
        return len(self.outputs)

    @property
    def extent(self) -> int:
        """Values of a tile, and products."""
        return len(self.weights)


_PLAIN = Axis((((1,),),), ((1,),), ((1,),), 1)
_TWO = Axis(
    data=(((1, 0, -1, 0), (0, 1, 1, 0), (0, -1, 1, 0), (0, 1, 0, -1)),),
    weights=((2, 0, 0), (1, 1, 1), (1, -1, 1), (0, 0, 2)),
    outputs=((1, 1, 1, 0), (0, 1, -1, -1)),
    scale=2,
)
_FOUR = Axis(
    # (4, 0, -5, 0, 1, 0), (0, 4, -4, -1, 1, 0), (0, -4, -4, 1, 1, 0),
    # (0, 2, -1, -2, 1, 0), (0, -2, -1, 2, 1, 0), (0, 4, 0, -5, 0, 1): shared terms at the right.
    data=(
        (
            *((4, 1, 0, 0, 0, 0), (0, 0, 0, 0, 1, 1), (0, 0, 0, 0, -1, 1)),
            *((0, 1, 2, 0, 0, 0), (0, 1, -2, 0, 0, 0), (0, 0, 4, 1, 0, 0)),
        ),
        (
            *((1, 0, -1, 0, 0, 0), (0, 0, -1, 0, 1, 0), (0, 1, 0, -1, 0, 0)),
            *((0, 0, 0, -1, 0, 1), (0, 4, 0, -1, 0, 0), (0, 0, -4, 0, 1, 0)),
        ),
    ),
    weights=((6, 0, 0), (-4, 4, -4), (-4, -4, -4), (1, -2, 4), (1, 2, 4), (0, 0, 12)),
    outputs=(
        *((1, 1, 1, 1, 1, 0), (0, -1, 1, -2, 2, 0)),
        *((0, 1, 1, 4, 4, 0), (0, -1, 1, -8, 8, 2)),
    ),
    scale=24,
)
_BY_TAPS = {1: _PLAIN, 3: _TWO}


@dataclass(frozen=True)
class Transform:
    """The transforms of both axes.

    Attributes:
        y: the transforms of the rows.
        x: the transforms of the columns.
    """

    y: Axis
    x: Axis

    @property
    def positions(self) -> int:
        """Products of a tile."""
        return self.y.extent * self.x.extent

    @property
    def scale(self) -> int:
        """The factor by which outputs are too large."""
        return self.y.scale * self.x.scale

    @property
    def scale_bits(self) -> int:
        """The right shift of outputs, in bits, after division by the scale's odd part."""
        return (self.scale & -self.scale).bit_length() - 1

    @property
    def shared_position(self) -> int:
        """Return the position whose sum of products is added to every output, once."""
        y, x = (np.flatnonzero((np.array(a.outputs) == 1).all(axis=0))[0] for a in (self.y, self.x))
        return int(y) * self.x.extent + int(x)

    @property
    def inverse(self) -> int:
        """The inverse of the scale's odd part, modulo 2^32."""
        return pow(self.scale >> self.scale_bits, -1, 1 << 32)

    @cached_property
    def data_bounds(self) -> Array:
        """The largest transformed data of uint8, int64 [positions]."""
        both: Array = np.kron(product_of(self.y.data), product_of(self.x.data))
        parts = np.maximum(both, 0).sum(axis=1), np.maximum(-both, 0).sum(axis=1)
        return np.asarray(_MAX_DATA * np.maximum(*parts))


def product_of(matrix: Factors) -> Array:
    """Multiply the factors of a matrix."""
    product: Array = reduce(np.matmul, (np.array(factor) for factor in matrix))
    return product


def transform_of(spec: ConvSpec, *, has_dots: bool = False) -> Transform | None:
    """Return the transform of a convolution; None if it has none that saves products.

    Args:
        spec: the convolution.
        has_dots: whether one instruction multiplies and adds bytes, and one words.
    """
    taps = spec.kernel_height, spec.kernel_width
    is_dense = spec.strides == (1, 1) and spec.dilation == (1, 1)
    if not is_dense or max(taps) == 1 or not set(taps) <= set(_BY_TAPS):
        return None
    if has_dots and taps != (3, 3):
        return None
    transform = Transform(_FOUR, _FOUR) if has_dots else Transform(*(_BY_TAPS[n] for n in taps))
    fits = (
        spec.out_height >= transform.y.tile_outputs and spec.out_width >= transform.x.tile_outputs
    )
    return transform if fits else None


def transform_weights(transform: Transform, kernel: Array) -> Array:
    """Transform the weights.

    Args:
        transform: from ``transform_of``.
        kernel: w − zw, integers of -255 to 255, [out_channels, KH, KW, in_channels].

    Returns:
        int16 [out_channels, positions, in_channels], or int32 if they do not fit.
    """
    y, x = (np.array(axis.weights, np.int32) for axis in (transform.y, transform.x))
    rows = np.einsum("ia,oabc->oibc", y, kernel.astype(np.int32))
    both = np.einsum("jb,oibc->oijc", x, rows)
    fits = np.abs(both).max(initial=0) <= np.iinfo(np.int16).max
    return np.asarray(
        both.reshape(len(kernel), transform.positions, -1), np.int16 if fits else np.int32
    )


def stays_in_range(transform: Transform, weights: Array) -> bool:
    """Tell whether no sum leaves int32, for all data.

    Args:
        transform: from ``transform_of``.
        weights: from ``transform_weights``.
    """
    sums = np.abs(weights.astype(np.int64)).sum(axis=2) * transform.data_bounds
    both = np.kron(np.array(transform.y.outputs), np.array(transform.x.outputs))
    return bool((sums @ np.abs(both).T).max() <= _MAX_SUM)


def wraps_back(transform: Transform, kernel: Array) -> bool:
    """Tell whether outputs computed modulo 2^32 are right, for all data.

    Args:
        transform: from ``transform_of``.
        kernel: w − zw, integers of -255 to 255, [out_channels, KH, KW, in_channels].
    """
    above, below = signed_sums(kernel, (1, 2, 3))
    largest = _MAX_DATA * max(int(above.max()), -int(below.min()))
    if largest << transform.scale_bits > _MAX_SUM:
        return False
    return transform_weights(transform, kernel).dtype == np.int16
