"""The choice of the tile of output pixels and channels that a kernel computes at a time.

The accumulators of a tile stay in registers for the whole sum, and the model counts the tile's
instructions:

* For each piece of a run: a load for each pixel, the instructions of its operands, and a load for
  every two vectors of weights (ldp).
* ``Isa.product`` for every accumulator and K-step; ``_LOOP`` for a K-step of a loop.
* ``_CONSTANTS`` for every vector of channels, ``_RESCALE`` for every output vector, ``_STORE``
  for every narrowed one. For the address of every pixel ``_NEXT_PIXEL`` if the tile's pixels are
  consecutive, ``_ANY_PIXEL`` if the address takes a division; ``_RANGE`` for a tile that leaves
  out rows of the kernel.
* The last pixels are computed by a full tile, which overlaps the one before.

The choice is the cheapest tile whose K-step fits the registers. Among equally cheap ones it is the
first, so it is the same every time.
"""

from collections.abc import Iterator
from functools import cache

from legalize.kernels.conv2d.arm.runs import pieces
from legalize.kernels.conv2d.spec import ConvSpec
from legalize.kernels.conv2d.taps import Taps
from legalize.kernels.conv2d.tiling import Tiling, cheapest_tiling, lies_in_line
from legalize.kernels.ir.vectors import store_pieces
from legalize.kernels.isa.arm import Isa
from legalize.kernels.isa.neon import LANES

_MAX_PIXELS = 12
_LOOP = 3
_UNROLLED = 2
_MOST_UNROLLED = 20
_RESCALE = 4
_STORE = 6
_CONSTANTS = 3
_TILE = 20
_RANGE = 10
_NEXT_PIXEL = 2
_ANY_PIXEL = 9
# Microseconds of an instruction, at two a cycle of 2 GHz: enough to tell large layers from small.
_MICROSECONDS = 0.25e-3


def vectors_of(spec: ConvSpec) -> int:
    """Count the vectors that hold an int32 for each output channel."""
    return -(-spec.out_channels // LANES)


@cache
def choose_tiling(spec: ConvSpec, isa: Isa, taps: Taps | None = None) -> Tiling:
    """Choose the tiles of a convolution, which multiply all taps or some."""

    def tiles(nr: int) -> Iterator[tuple[float, int]]:
        for mr in range(isa.pixels, min(spec.out_pixels, _MAX_PIXELS) + 1, isa.pixels):
            if fits(spec, isa, nr, mr):
                yield instructions(spec, isa, nr, mr, taps), mr

    return cheapest_tiling(spec.out_channels, LANES, isa.most_nr, tiles)


def accumulators(isa: Isa, nr: int, mr: int) -> tuple[int, int]:
    """Return rows and columns of a tile's accumulators."""
    return mr // isa.pixels, nr * LANES // isa.channels


def fits(spec: ConvSpec, isa: Isa, nr: int, mr: int) -> bool:
    """Tell whether a K-step's values fit the registers."""
    taken = isa.k_step_registers(mr, nr)
    if spec.run_length // isa.largest == _UNROLLED:
        # LLVM unrolls such a loop and then loads the data of both K-steps at once.
        taken += mr
        rows, columns = accumulators(isa, nr, mr)
        if rows * columns > _MOST_UNROLLED:
            return False
    return taken <= isa.registers


def instructions(spec: ConvSpec, isa: Isa, nr: int, mr: int, taps: Taps | None = None) -> float:
    """Estimate the instructions of one block of channels."""
    rows, columns = accumulators(isa, nr, mr)
    run = 0.0
    for piece in pieces(spec.run_length, isa):
        k_steps = piece.size // isa.depth - piece.first
        run += mr * (1 + isa.prepare(piece.size))
        run += k_steps * columns * (rows * isa.product + 0.5)
        run += _LOOP if piece.size == isa.largest else 0
    address = _NEXT_PIXEL if lies_in_line(spec, mr) else _ANY_PIXEL
    rescale = _RESCALE + (0 if isa.pixels == 1 else 1)
    end = rescale * nr + _STORE * len(store_pieces(nr))
    runs = spec.runs * (1 if taps is None else taps.share(mr))
    tile = runs * (run + _LOOP) + mr * (address + end)
    tile += _CONSTANTS * nr + _TILE + (0 if taps is None else _RANGE)
    return -(-spec.out_pixels // mr) * tile


def microseconds(spec: ConvSpec, isa: Isa, tiling: Tiling, taps: Taps | None = None) -> float:
    """Estimate a convolution's microseconds on one thread."""
    costs = (part.blocks * instructions(spec, isa, part.nr, part.mr, taps) for part in tiling)
    return sum(costs) * _MICROSECONDS
