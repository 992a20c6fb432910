"""Products of small integer matrices and vectors, in few instructions."""

from collections.abc import Callable, Sequence

from tvm.script.ir_builder import tirx as T

from legalize.kernels.ir.vectors import Vector, kept, lanes_in
from legalize.kernels.isa.x86_instructions import wrapped

Matrix = tuple[tuple[int, ...], ...]
Factors = tuple[Matrix, ...]
"""A product of matrices; the last one multiplies first."""


def both_ways(
    y: Factors, x: Factors, load: Callable[[int, int], Vector], *, wraps: bool
) -> list[list[Vector]]:
    """Multiply a matrix of vectors by a matrix on the left and a transposed matrix on the right.

    Args:
        y: the matrix on the left, in factors.
        x: the matrix on the right.
        load: returns the vector of a row and a column.
        wraps: whether vectors are int32 and sums wrap modulo 2^32.

    Returns:
        Rows of vectors.
    """
    columns = []
    for column in range(len(x[-1][0])):
        loaded = [load(row, column) for row in range(len(y[-1][0]))]
        columns.append(_multiplied(y, loaded, wraps=wraps))
    return [_multiplied(x, line, wraps=wraps) for line in zip(*columns, strict=True)]


def _multiplied(matrix: Factors, vectors: Sequence[Vector], *, wraps: bool) -> list[Vector]:
    """Multiply a matrix with vectors in a column."""
    products = list(vectors)
    for factor in reversed(matrix):
        values = _Combiner([kept(vector) for vector in products], wraps)
        products = [values.combined(row) for row in factor]
    return products


class _Combiner:
    """Sums of the same vectors with factors; shared terms are computed once."""

    def __init__(self, values: Sequence[Vector], wraps: bool) -> None:
        self._values = values
        self._wraps = wraps
        self._pairs: dict[tuple[int, int, bool], Vector] = {}

    def combined(self, factors: Sequence[int]) -> Vector:
        """Add the vectors times factors; a factor is positive, or two are opposite.

        Two vectors whose factors have the same magnitude are added or subtracted first.
        """
        terms: list[tuple[int, int, int | None]] = []
        for size in sorted({abs(factor) for factor in factors if factor}):
            places = [i for i, factor in enumerate(factors) if abs(factor) == size]
            while len(places) > 1:
                last, first = places.pop(), places.pop()
                terms.append((factors[last], last, first))
            terms += [(factors[place], place, None) for place in places]
        if all(factor < 0 for factor, *_ in terms):
            turned = next(t for t in terms if t[2] is not None and factors[t[2]] > 0)
            terms.remove(turned)
            factor, place, other = turned
            assert other is not None
            terms.append((-factor, other, place))
        terms.sort(key=lambda term: -term[0])
        total = None
        for factor, place, other in terms:
            value = self._values[place]
            if other is not None:
                value = self._pair(place, other, is_sum=factors[place] == factors[other])
            part = self._times(value, abs(factor))
            if total is None:
                total = part
            else:
                total = self._plus(total, part) if factor > 0 else self._minus(total, part)
        return total

    def _pair(self, place: int, other: int, *, is_sum: bool) -> Vector:
        """Return the sum or the difference of two vectors."""
        key = place, other, is_sum
        if key not in self._pairs:
            change = self._plus if is_sum else self._minus
            self._pairs[key] = kept(change(self._values[place], self._values[other]))
        return self._pairs[key]

    def _plus(self, a: Vector, b: Vector) -> Vector:
        return wrapped("add", a, b) if self._wraps else a + b

    def _minus(self, a: Vector, b: Vector) -> Vector:
        return wrapped("sub", a, b) if self._wraps else a - b

    def _times(self, value: Vector, factor: int) -> Vector:
        if factor == 1:
            return value
        lanes = lanes_in(value)
        literal = getattr(T, str(value.ty.dtype).split("x")[0])
        if factor & (factor - 1):
            constant = T.broadcast(literal(factor), lanes)
            return wrapped("mul", value, constant) if self._wraps else value * constant
        return T.shift_left(value, T.broadcast(literal(factor.bit_length() - 1), lanes))
