"""Random models of a single operator, with what single operators are given at their edges.

Ranks are 0 to 6 and sizes begin with 0; axes are negative and outside, masks speak of more axes
than there are, operands of numbers have odd types and ranks, quantization is missing now and then.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from frontends.tflite.quantization import Quantization
from qnn_ops.arrays import Array
from tests.support.arrays import Chances, any_of
from tests.support.tflite import Sheet, random_quantization

ACTIVATIONS = (*["NONE", "RELU"] * 3, *["RELU6", "RELU_N1_TO_1"] * 3, "TANH", "SIGN_BIT")
_SIZES = (0, 1, 1, 1, 2, 2, 3, 3, 4, 5, 8, 17)
_EIGHT_BITS = ("int8", "uint8")
ENCODED = (*_EIGHT_BITS, "int16")
"""Types that have a scale."""


@dataclass(frozen=True)
class Case:
    """A model of one operator, and an array for each of its inputs."""

    code: str
    content: bytes
    arrays: tuple[Array, ...]


class Draw(Sheet, Chances):
    """A model under way."""

    def __init__(self, rng: np.random.Generator, code: str) -> None:
        super().__init__()
        self.rng, self.code = rng, code

    def odd(self, share: float) -> bool:
        """Tell whether this model has a certain mistake."""
        return self.chance(share)

    def size(self) -> int:
        return int(self.choice(*_SIZES))

    def shape(self, lowest: int = 0, highest: int = 6) -> tuple[int, ...]:
        rank = int(self.rng.integers(lowest, highest, endpoint=True))
        shape = [self.size() for _ in range(rank)]
        while np.prod(shape) > 4000:
            shape[int(np.argmax(shape))] = 1
        return tuple(shape)

    def image(self) -> tuple[int, ...]:
        """Mostly of rank 4."""
        if self.odd(0.05):
            return self.shape()
        rows, columns = (int(size) for size in self.rng.integers(0, 10, 2))
        return (self.choice(0, 1, 1, 1, 1, 2), rows, columns, self.size())

    def like(self, shape: Sequence[int]) -> tuple[int, ...]:
        """Return a shape that can mostly be broadcast with another."""
        kept = [1 if self.chance(0.3) else size for size in shape]
        if self.odd(0.05):
            kept = [size + self.choice(0, 1) for size in kept]
        return tuple(kept[int(self.choice(0, 0, self.rng.integers(len(kept) + 1))) :])

    def dtype(self) -> str:
        """Draw the type of data that is only moved."""
        if self.chance(0.7):
            return str(self.choice(*_EIGHT_BITS))
        return str(self.choice("float32", "float32", "int32", "int64", "bool", "int16"))

    def computed_dtype(self) -> str:
        return str(self.choice("int8", "uint8", "int8", "uint8", "int16", "float32"))

    def dtype_of(self, *dtypes: str) -> str:
        """Draw one of the few types that an operator takes, and now and then any other one."""
        return self.dtype() if self.odd(0.1) else str(self.choice(*dtypes))

    def encoding(self, dtype: str, scale: float = 0.05) -> Quantization | None:
        """Return a scale and a zero point, of int16 mostly 0."""
        if dtype not in ENCODED:
            return None
        if dtype == "int16":
            known = random_quantization(self.rng, dtype, scale / 256)
            return known if self.odd(0.03) else replace(known, zero_point=np.zeros(1, np.int64))
        return random_quantization(self.rng, dtype, scale)

    def data(self, dtype: str, shape: Sequence[int]) -> Array:
        return any_of(self.rng, dtype, shape)

    def operand(
        self, shape: Sequence[int], dtype: str, encoding: Quantization | None = None
    ) -> int:
        """Return the value of a run, or now and then a constant of the file."""
        array = self.data(dtype, shape)
        return (self.constant if self.chance(0.08) else self.input)(array, encoding)

    def constant(self, array: Any, quantization: Quantization | None = None) -> int:
        """Return a constant of the array's own dtype."""
        return self.bias(np.asarray(array), quantization)

    def numbers(self, values: Any, dtype: str = "int32") -> int:
        """Return an operand of numbers, now and then of another type or rank."""
        array = np.asarray(values)
        if self.odd(0.06):
            dtype = str(self.choice("int64", "int16", "int8", "uint8", "float32"))
        if self.odd(0.03):
            array = array.reshape(self.choice((-1,), (1, -1), (-1, 1)))
        if self.odd(0.02) and array.ndim:
            array = array[:-1]
        return self.constant(array.astype(dtype))

    def axis(self, rank: int) -> int:
        """Mostly one that there is."""
        if self.odd(0.05):
            return int(self.rng.integers(-rank - 2, rank + 3))
        return int(self.rng.integers(-rank, rank)) if rank else 0

    def axes(self, rank: int) -> list[int]:
        return [self.axis(rank) for _ in range(int(self.rng.integers(0, min(rank, 4) + 1)))]

    def make(
        self,
        operands: Sequence[int],
        *outputs: tuple[str, Quantization | None],
        shape: Sequence[int] = (1,),
        **options: Any,
    ) -> None:
        """Add the operator; the declared shapes of its outputs mean nothing to LiteRT."""
        operands = operands[:-1] if self.odd(0.01) else operands
        self.operator(self.code, operands, *((shape, *each) for each in outputs), **options)

    def finish(self) -> Case:
        return Case(self.code, self.model(), tuple(self.arrays))


Rule = Callable[[Draw], None]
RULES: dict[str, Rule] = {}


def drawn(*codes: str) -> Callable[[Rule], Rule]:
    """Register the function that draws the model of an operator."""

    def decorate(rule: Rule) -> Rule:
        RULES.update(dict.fromkeys(codes, rule))
        return rule

    return decorate


def code_of(seed: int) -> str:
    """Return the operator of a seed's model; operators take turns."""
    return sorted(RULES)[seed % len(RULES)]


def case_of(seed: int) -> Case:
    """Return the model of a seed."""
    rng = np.random.default_rng(seed)
    draw = Draw(rng, code_of(seed))
    RULES[draw.code](draw)
    return draw.finish()
