"""The choice of the tile of output pixels and channels that a kernel computes at a time.

The accumulators of a tile of MR pixels × NR vectors of channels stay in registers for the whole
sum. A K-step of the sum broadcasts four bytes of each pixel, loads NR vectors of weights and
multiplies every pair.

The model counts vector instructions:

* The registers hold the accumulators, the weights of a K-step and its data.
* A K-step takes MR · NR products, but no less than ``_LATENCY``: an accumulator
  waits that long for its previous product. The products hide the loads only in part, least of all
  loads of weights if a block's weights exceed the first-level cache.
* Adjacent pixels read the same columns of the data: if the weights of all the kernel's columns fit
  into registers, a tile loads each column once, and not for every pixel.
* An output vector takes ``_RESCALE``, and ``_SUM`` if a tensor is added; a store, with its
  narrowing, ``_STORE`` by its width.
* A tile takes ``_TILE``, ``_RANGE`` more if it leaves out taps, and for the address of every
  pixel ``_NEXT_PIXEL`` if pixels are consecutive, ``_ANY_PIXEL`` if it takes a division.
* The last pixels are computed by a full tile, which overlaps the one before.

The constants were fitted to measurements of every tile on some twenty layers. There the choice was
within a few percent of the best one.

The choice is the cheapest tile, or a common one if that costs little more (``PREFERENCE``).
Blocks of two widths need twice the code, so they are chosen only if they save ``_SECTION``. Of
equally cheap tiles it is the first, so the choice is the same every time.
"""

from collections.abc import Iterator, Sequence
from functools import cache
from math import inf

import numpy as np

from legalize.kernels.conv2d.spec import ConvSpec
from legalize.kernels.conv2d.taps import Taps
from legalize.kernels.conv2d.tiling import Tiling, cheapest_tiling, lies_in_line
from legalize.kernels.ir.rows import has_masks
from legalize.kernels.ir.vectors import DWORD, Array, store_pieces
from legalize.kernels.isa.x86 import Isa, Products
from qnn_ops.arrays import Int64Array

_MAX_PIXELS = 12
_MAX_SHARING_PIXELS = 16
_MAX_NR = 12
_LATENCY = 10
_SHARING_LATENCY = 14
_K_STEP = 1.0
_BROADCAST = 0.25
_NEAR_WEIGHTS = 0.5
_FAR_WEIGHTS = 0.75
_NEAR_BYTES = 40 << 10
_RESCALE = 8
_SUM = 11
_STORE = {4: 4, 2: 5, 1: 4}
_TILE = 16
_RANGE = 8
_NEXT_PIXEL = 1
_ANY_PIXEL = 8
PREFERENCE = {(4, 6): 0.98}
"""The factor on the cost of some tiles (NR, MR).

Layers with the same tile share code, so the most common tile is also chosen where another one is up
to 2 % cheaper.
"""
SHORT_TILES = {(2, 9): 0.96, (3, 9): 0.96}
"""The factor on the cost of tiles that short convolutions prefer, so that they share code.

Compiling a function of its own takes thousands of times as long as one run of it.
"""
# The most microseconds of a short convolution, without its loads.
_SHORT = 1.4
# The share of a convolution's cost that a second section of blocks must save.
_SECTION = 0.04
# The time of one unit on processors of about 3 GHz; it tells large layers from small ones.
MICROSECONDS = 0.2e-3


@cache
def choose_tiling(spec: ConvSpec, products: Products, taps: Taps | None = None) -> Tiling:
    """Choose the tiles of a convolution, which multiply all taps or some."""

    def tiles(nr: int) -> Iterator[tuple[float, int]]:
        for mr in range(1, min(spec.out_pixels, _MAX_SHARING_PIXELS) + 1):
            if _is_possible(spec, products, nr, mr, taps):
                cost = _cost(spec, products, nr, mr, taps)
                yield preference.get((nr, mr), 1.0) * cost, mr

    lanes, channels, preference, more = products.lanes, spec.out_channels, PREFERENCE, _SECTION
    if is_short(spec, products):
        # Each section is a call of a function that other layers share. The function of the most
        # common tile knows that all its channels are real, so it serves no part of a vector.
        common = dict.fromkeys(PREFERENCE, inf) if channels % lanes else PREFERENCE
        channels, preference, more = -(-channels // lanes) * lanes, {**SHORT_TILES, **common}, 0.0
    return cheapest_tiling(channels, lanes, _MAX_NR, tiles, more)


def is_short(spec: ConvSpec, products: Products) -> bool:
    """Tell whether a convolution is so short that it takes the code of others.

    That code reads how many channels there are, and stores by masks. It serves pointwise
    convolutions, which need no sums of pixels and share no columns.
    """
    fusion, isa = spec.fusion, products.isa
    is_pointwise = (spec.kernel_height, spec.kernel_width, *spec.strides) == (1, 1, 1, 1)
    is_plain = is_pointwise and fusion.added_dtype is None and not spec.has_asymmetric_kernel
    can_share = fusion.is_shared and isa.has_byte_products and has_masks(isa.lanes)
    work = spec.out_pixels * isa.vectors(spec.out_channels) * (spec.k_steps_per_run + _RESCALE)
    return is_plain and can_share and work * MICROSECONDS < _SHORT


def registers_of(products: Products, nr: int, mr: int) -> int:
    """Count the registers that a K-step takes: accumulators, weights and data."""
    return mr * nr + products.parts * nr + products.spare


def shares_columns(
    spec: ConvSpec, products: Products, nr: int, mr: int, taps: Taps | None = None
) -> bool:
    """Tell whether the pixels of a tile are adjacent, and share the columns that they read."""
    columns = spec.kernel_width
    if not products.isa.has_byte_products or spec.strides[1] > 1 or columns == 1:
        return False
    if taps is not None and taps.down:
        return False
    is_whole = spec.taps_per_run == columns and spec.staged_channels % spec.k_step == 0
    registers = mr * nr + columns * products.parts * nr + products.spare
    fits = registers <= products.isa.registers
    return is_whole and fits and mr > 1 and spec.out_width % mr == 0


def _is_possible(
    spec: ConvSpec, products: Products, nr: int, mr: int, taps: Taps | None = None
) -> bool:
    fits = mr <= _MAX_PIXELS and registers_of(products, nr, mr) <= products.isa.registers
    return fits or mr == 1 or shares_columns(spec, products, nr, mr, taps)


def _cost(spec: ConvSpec, products: Products, nr: int, mr: int, taps: Taps | None = None) -> float:
    tiles = -(-spec.out_pixels // mr)
    k_steps: float = spec.runs * spec.k_steps_per_run
    weights = products.parts * nr
    is_near = k_steps * weights * products.lanes * DWORD <= _NEAR_BYTES
    broadcasts, latency, once = float(mr), _LATENCY, _K_STEP
    if shares_columns(spec, products, nr, mr, taps):
        broadcasts = 1 + (mr - 1) / spec.kernel_width
        latency, once = _SHARING_LATENCY, _K_STEP / spec.kernel_width
    loads = _BROADCAST * broadcasts + (_NEAR_WEIGHTS if is_near else _FAR_WEIGHTS) * weights
    widening = products.parts * mr if products.parts > 1 else 0
    k_step = max(products.instructions * mr * nr + widening, latency) + loads + once
    is_in_line = lies_in_line(spec, mr) and not (taps is not None and taps.down)
    address = _NEXT_PIXEL if is_in_line else _ANY_PIXEL
    tile = _TILE
    if taps is not None:
        k_steps *= taps.share(mr)
        tile += _RANGE
    return tiles * (k_steps * k_step + mr * (address + rescaling_units(spec, nr)) + tile)


def rescaling_units(spec: ConvSpec, nr: int) -> float:
    """Estimate the cost of rescaling and storing a pixel's vectors."""
    vector = _RESCALE + (_SUM if spec.fusion.residual is not None else 0)
    return vector * nr + _storing_units(nr)


@cache
def _storing_units(nr: int) -> int:
    return sum(_STORE[size] for _, size in store_pieces(nr))


def units(spec: ConvSpec, products: Products, taps: Taps | None = None) -> float:
    """Estimate the cost of a convolution, in the model's instructions."""
    return _units(spec, products, choose_tiling(spec, products, taps), taps)


def microseconds(
    spec: ConvSpec, products: Products, tiling: Tiling, taps: Taps | None = None
) -> float:
    """Estimate a convolution's microseconds on one thread, from the model's costs."""
    return _units(spec, products, tiling, taps) * MICROSECONDS


def _units(spec: ConvSpec, products: Products, tiling: Tiling, taps: Taps | None) -> float:
    return sum(part.blocks * _cost(spec, products, part.nr, part.mr, taps) for part in tiling)


def by_blocks(tiling: Tiling, values: Array, lanes: Array, order: Sequence[int]) -> Array:
    """Lay out values of channels in one row, block by block.

    Args:
        tiling: the tiles.
        values: of shape [channels + 1, ..., n]; the last channel is for empty lanes.
        lanes: from ``lane_channels``.
        order: the axes of a section's values, [blocks, nr, lanes, ...], in the order of the row,
            without the last axis.
    """
    # NumPy moves the n values several times faster as one element.
    dtype, values = values.dtype, np.ascontiguousarray(values)
    values = values.view(f"V{values.shape[-1] * values.itemsize}")[..., 0]
    packed = []
    for section in tiling:
        stop = section.first_vector + section.blocks * section.nr
        block = values[lanes[section.first_vector : stop]]
        block = block.reshape(section.blocks, section.nr, *block.shape[1:])
        packed.append(block.transpose(*order).reshape(-1))
    return (packed[0] if len(packed) == 1 else np.concatenate(packed)).view(dtype)


def lane_channels(spec: ConvSpec, isa: Isa, tiling: Tiling) -> Int64Array:
    """Tell which output channel each lane of each vector holds.

    The instructions that narrow four int32 vectors to one of bytes (vpackssdw, vpackuswb)
    interleave them by 128 bits. Channels are distributed so that the bytes come out in order: byte
    16·q + 4·v + i comes from lane 4·q + i of vector v; for two vectors byte 8·q + 4·v + i.

    Returns:
        int64 of shape [vectors, lanes]; -1 where a lane is past the last channel.
    """
    lanes = isa.lanes
    channels = np.empty((isa.vectors(spec.out_channels), lanes), np.int64)
    for section in tiling:
        for block in range(section.blocks):
            start = section.first_vector + block * section.nr
            for first, size in store_pieces(section.nr):
                order = np.arange(size * lanes).reshape(size, lanes)
                if not spec.output.fills_lanes:
                    order = order.reshape(-1, size, 4).transpose(1, 0, 2).reshape(size, lanes)
                vector = start + first
                channels[vector : vector + size] = vector * lanes + order
    channels[channels >= spec.out_channels] = -1
    return channels
