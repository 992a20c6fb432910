"""ARM's instruction sets, whose products the kernels use.

All add products of int8 data and int8 weights, exactly, to accumulators of four int32. One K-step
multiplies a few neighbouring bytes of a pixel, in one of three ways:

* smmla multiplies 8 bytes of two pixels with 8 weights of two channels each.
* sdot multiplies 4 bytes of a pixel with 4 weights of four channels each.
* Without smmla and sdot, smull and smlal2 add the products of two bytes and of two others in 16
  bits, and sadalp adds neighbours: three instructions multiply 4 bytes of a pixel with 4 weights of
  four channels each. 16 bits hold two products unless both are (−128)·(−128). If the weights make
  that possible, each product is added separately, in a fourth instruction.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from tvm.script.ir_builder import tirx as T

from legalize.kernels.ir.vectors import Vector, instruction, kept, lanes_in
from legalize.kernels.isa.neon import LANES, Neon, half, multiply_long, paired, picked

REGISTER_BYTES = 16


@dataclass(frozen=True)
class Isa(ABC):
    """Registers and products of an instruction set.

    An accumulator holds ``pixels`` × ``channels`` sums.

    Attributes:
        name: the instruction set's name.
        features: an architecture and LLVM's extensions, which its targets must have.
        registers: vector registers.
        depth: bytes of a pixel in a K-step.
        pixels: pixels of an accumulator.
        channels: channels of an accumulator.
        largest: bytes of the largest load of a pixel: 16, or 8 if the operands of all K-steps of
            16 bytes would take too many registers.
        spare: registers that a K-step needs in addition to accumulators, operands and weights.
        most_nr: the most vectors of four channels in a tile.
    """

    name: str
    features: tuple[str, ...]
    registers: int = 32
    depth: int = 4
    pixels: int = 1
    channels: int = LANES
    largest: int = 16
    spare: int = 2
    most_nr: int = 8

    @property
    def neon(self) -> Neon:
        """The other instructions."""
        return Neon(is_armv7="arm" in self.features)

    @property
    def product(self) -> int:
        """Instructions that multiply and add a K-step's bytes to one accumulator."""
        return 1

    def k_step_registers(self, pixels: int, nr: int) -> int:
        """Count the registers that a K-step takes for a tile."""
        sums = pixels * nr * LANES // (self.pixels * self.channels)
        return sums + pixels + self.spare

    @abstractmethod
    def prepare(self, size: int) -> float:
        """Count the instructions that make operands of ``size`` loaded bytes of a pixel."""

    @abstractmethod
    def operands(self, loaded: list[Vector]) -> list[Vector]:
        """Make the operands of ``multiply_add`` for each K-step.

        Args:
            loaded: equally many bytes, int8x4 to int8x16, of each pixel of an accumulator.
        """

    @abstractmethod
    def multiply_add(self, total: Vector, data: Vector, weights: Vector) -> Vector:
        """Add the products of one K-step to an accumulator."""

    def order(self, weights: npt.NDArray[np.int8]) -> npt.NDArray[np.int8]:
        """Lay out the last two axes, channels of an accumulator and bytes of a K-step."""
        return weights.reshape(*weights.shape[:-2], REGISTER_BYTES)


@dataclass(frozen=True)
class MatrixProducts(Isa):
    """Smmla."""

    def prepare(self, size: int) -> float:
        """Interleave two pixels' bytes by zip1 and zip2."""
        return size / REGISTER_BYTES

    def operands(self, loaded: list[Vector]) -> list[Vector]:
        """Return eight bytes of one pixel, then eight bytes of the other pixel."""
        k_steps = lanes_in(loaded[0]) // self.depth
        return [T.reinterpret("int8x16", paired(loaded, k_step)) for k_step in range(k_steps)]

    def multiply_add(self, total: Vector, data: Vector, weights: Vector) -> Vector:
        """Multiply by smmla."""
        name = "llvm.aarch64.neon.smmla.v4i32.v16i8"
        return instruction("int32x4", name, total, data, weights)


@dataclass(frozen=True)
class DotProducts(Isa):
    """Sdot by element."""

    def prepare(self, size: int) -> float:
        """Prepare nothing: sdot repeats an element by itself."""
        return 0

    def operands(self, loaded: list[Vector]) -> list[Vector]:
        """Return four bytes, repeated."""
        (value,) = loaded
        words = lanes_in(value) // self.depth
        elements = T.reinterpret("int32" if words == 1 else f"int32x{words}", value)
        return [
            T.reinterpret("int8x16", picked(elements, [k_step] * LANES)) for k_step in range(words)
        ]

    def multiply_add(self, total: Vector, data: Vector, weights: Vector) -> Vector:
        """Multiply by sdot."""
        name = "llvm.aarch64.neon.sdot.v4i32.v16i8"
        return instruction("int32x4", name, total, weights, data)


@dataclass(frozen=True)
class LongProducts(Isa):
    """Smull, smlal2 and sadalp.

    Attributes:
        has_sums_of_two: whether 16 bits hold the sum of two products with these weights.
    """

    has_sums_of_two: bool = True

    @property
    def product(self) -> int:
        """Smull, smlal2 and sadalp; or smull, sadalp, smull2 and sadalp."""
        return 3 if self.has_sums_of_two else 4

    def k_step_registers(self, pixels: int, nr: int) -> int:
        """Count registers. LLVM makes all operands of a load, and loads most weights, early."""
        operands = self.largest // self.depth * pixels
        return pixels * nr + operands + nr + self.spare

    def prepare(self, size: int) -> float:
        """Return a tbl a K-step; two dups on ARMv7."""
        return size / self.depth * (2 if self.neon.is_armv7 else 1)

    def operands(self, loaded: list[Vector]) -> list[Vector]:
        """Return two bytes four times, and the next two four times."""
        (value,) = loaded
        pairs = lanes_in(value) // 2
        elements = T.reinterpret(f"int16x{pairs}", value)

        def repeated(*places: int) -> Vector:
            lanes = [place for place in places for _ in range(LANES)]
            return T.reinterpret(f"int8x{2 * len(lanes)}", picked(elements, lanes))

        k_steps = range(0, pairs, 2)
        if self.neon.is_armv7:
            return [(repeated(k_step), repeated(k_step + 1)) for k_step in k_steps]
        both = [kept(repeated(k_step, k_step + 1)) for k_step in k_steps]
        return [(half(value, 0), half(value, 1)) for value in both]

    def multiply_add(self, total: Vector, data: Vector, weights: Vector) -> Vector:
        """Multiply by smull, smlal2 and sadalp."""
        first, second = (multiply_long(data[i], half(weights, i)) for i in range(2))
        if self.has_sums_of_two:
            return self.neon.add_pairs(total, first + second)
        return self.neon.add_pairs(self.neon.add_pairs(total, first), second)

    def order(self, weights: npt.NDArray[np.int8]) -> npt.NDArray[np.int8]:
        """Return two bytes of each channel, then the other two."""
        pairs = weights.reshape(*weights.shape[:-1], 2, 2).swapaxes(-3, -2)
        return pairs.reshape(*weights.shape[:-2], REGISTER_BYTES)


I8MM = MatrixProducts("i8mm", ("aarch64", "i8mm"), depth=8, pixels=2, channels=2, spare=4)
DOTPROD = DotProducts("dotprod", ("aarch64", "dotprod"))
NEON = LongProducts("neon", ("aarch64", "neon"), spare=6, most_nr=6)
ARMV7 = LongProducts("armv7", ("arm", "neon"), registers=16, largest=8, spare=6, most_nr=4)

ISAS = (I8MM, DOTPROD, NEON, ARMV7)
"""All instruction sets, the fastest first."""
