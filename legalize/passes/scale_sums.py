"""Let the kernel of a dense layer turn its sums into real numbers."""

from collections import defaultdict
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
import tvm
from tvm import relax
from tvm.relax import op as R
from tvm.relax.expr_functor import mutator

from legalize.kernels.conv2d.calls import Scaling
from legalize.kernels.conv2d.plan import Columns
from legalize.kernels.table import SCALED
from legalize.passes.rewriter import CallRewriter, Facts, first_found, module_pass
from legalize.qdq.group import operator_name
from qnn_ops import dynamic_encoding, quantized_dense
from qnn_ops.arithmetic.rounded import rounded
from qnn_ops.arrays import Array
from qnn_ops.dialect.attributes import dtype_range
from qnn_ops.dialect.registry import TensorSpec, attrs_of, constant_of, operator_of, spec_of
from qnn_ops.quantized.dynamic_quantization import FIELDS, OFFSETS, POINT_FIELD, SCALE_FIELD

_SUMS = ("int32", *dtype_range("int32"))
# The most that each step of a zero point takes from a sum: 256 steps take half of int32.
_MOST_POINTS = 2**30 // 256
# The number of readers of a product that ``qnn_ops.arithmetic.rounded`` rounds.
_OF_ROUNDED = 3
# The operators between a field of an encoding and its use.
_OF_SCALES = ("relax.reshape",)
_OF_POINTS = ("relax.reshape", "relax.astype", "relax.subtract")


def ScaleSums(target: tvm.target.Target) -> tvm.transform.Pass:
    """Let kernels for ``target`` scale the sums of products with data quantized at run time.

    A frontend writes this layer as several operators: int32 sums, less the contribution of the
    rows' zero points; a conversion to float32; products with the row's and the column's scale; a
    bias. The kernel computes the same in registers, if nothing else reads the intermediate results,
    and if the rows' scales and zero points come from ``dynamic_encoding``.
    """
    rules_for = SCALED.serving(target)

    @mutator
    class _ScaleSums(CallRewriter):
        def enter(self, function: relax.Function) -> bool:
            chains = _Chains(self.facts).found()
            # The compiling machine computes expressions of constants, without kernels.
            self.chains = {
                last: chain
                for last, chain in chains.items()
                if not self.facts.is_constant(chain.dense)
            }
            return bool(self.chains)

        def visit_call_(self, call: relax.Call) -> relax.Expr:
            chain = self.chains.get(call)
            scaled = None if chain is None else self._scaled(chain)
            return super().visit_call_(call) if scaled is None else scaled

        def _scaled(self, chain: _Chain) -> relax.Expr | None:
            operands = [self.visit_expr(operand) for operand in chain.dense.args]
            dense = relax.Call(chain.dense.op, operands, chain.dense.attrs)
            dense = self.builder_.normalize(dense)
            scaling = Scaling(self.visit_expr(chain.encoding), chain.offset, chain.columns)
            result = first_found(rule(self.builder_, dense, scaling) for rule in rules_for(dense))
            return None if result is None else self.builder_.normalize(result)

    return module_pass(_ScaleSums, "ScaleSums")


@dataclass(frozen=True, eq=False)
class _Chain:
    """Sums, and the operators that scale them.

    Attributes:
        dense: the call that computes the sums.
        encoding: the variable of the rows' encodings.
        offset: added to the rows' zero points; None if the sums do not depend on them.
        columns: the constants of each unit.
    """

    dense: relax.Call
    encoding: relax.Var
    offset: int | None
    columns: Columns


@dataclass(frozen=True, eq=False)
class _Factors:
    """A product of a number for each row and a number for each column.

    Attributes:
        encoding: the variable of the encodings, which have the rows' numbers as a field.
        offset: added to the rows' numbers.
        columns: the columns' numbers.
    """

    encoding: relax.Var
    offset: int
    columns: Array


class _Chains:
    """The variables of a function, and their readers."""

    def __init__(self, facts: Facts) -> None:
        """Read all bindings."""
        self.uses, self.values = facts.uses, facts.values
        self.readers: dict[Any, list[Any]] = defaultdict(list)
        for variable, value in self.values.items():
            for operand in getattr(value, "args", ()):
                if isinstance(operand, relax.Var):
                    self.readers[operand].append(variable)

    def found(self) -> dict[Any, _Chain]:
        """Return the chains that follow sums, by the calls that compute the last results."""
        chains = {}
        for variable, value in self.values.items():
            if operator_of(value) is quantized_dense and len(value.args) == 2:
                attrs = attrs_of(value)
                if (attrs.out_dtype, attrs.out_min, attrs.out_max) == _SUMS:
                    chains.update(self._chain(variable, value))
        return chains

    def _chain(self, sums: Any, dense: relax.Call) -> dict[Any, _Chain]:
        """Return the chain that follows sums, if there is one."""
        shape, points = spec_of(dense).shape, None
        centred = self._reader(sums, "subtract")
        if centred is not None:
            minuend, taken = self.values[centred].args
            points = self._factors(taken, shape, POINT_FIELD)
            if points is None or not minuend.same_as(sums):
                return {}
            if np.abs(points.columns.astype(np.int64)).max(initial=0) > _MOST_POINTS:
                return {}
        real = self._reader(sums if centred is None else centred, "astype")
        product = None if real is None else self._reader(real, "multiply")
        if product is None or spec_of(product) != TensorSpec(shape, "float32"):
            return {}
        scales = self._factors(self._other(product, real), shape, SCALE_FIELD)
        if scales is None or (points and not points.encoding.same_as(scales.encoding)):
            return {}
        result, bias = self._biased(product, shape)
        column_points, offset = (None, None) if points is None else (points.columns, points.offset)
        columns = Columns(scales.columns, column_points, bias)
        return {self.values[result]: _Chain(dense, scales.encoding, offset, columns)}

    def _factors(self, expr: relax.Expr, shape: tuple[int, ...], field: int) -> _Factors | None:
        """Return the factors of a product that broadcasts with sums of a shape."""
        if not isinstance(expr, relax.Var) or expr not in self.values:
            return None
        value = self.values[expr]
        if operator_name(value) != "relax.multiply":
            return None
        for rows, other in (value.args, reversed(value.args)):
            columns, encoded = _columns(other, shape[-1]), self._encoding(rows, field)
            if columns is not None and encoded is not None:
                encoding, offset = encoded
                fits = _has_rows(spec_of(encoding).shape, spec_of(rows).shape, shape[:-1])
                return _Factors(encoding, offset, columns) if fits else None
        return None

    def _encoding(self, expr: relax.Expr, field: int) -> tuple[Any, int] | None:
        """Return the encoding that has an expression as a field, and the number added to it."""
        offset, dtypes = 0, set[str]()
        passed = _OF_POINTS if field == POINT_FIELD else _OF_SCALES
        while isinstance(expr, relax.Var) and expr in self.values:
            value = self.values[expr]
            name, dtype = operator_name(value), spec_of(expr).dtype
            if name == "relax.strided_slice":
                # Bytes hold only the zero points of their own dtype.
                holds = all(OFFSETS.get(each, offset) == offset for each in dtypes)
                is_field = holds and offset in OFFSETS.values() and self._is_field(value, field)
                return (value.args[0], offset) if is_field else None
            if name not in passed:
                return None
            if name == "relax.subtract":
                taken = constant_of(value.args[1])
                if taken is None or taken.size != 1 or taken.dtype != np.int32:
                    return None
                offset -= int(taken.item())
            dtypes.add(dtype)
            expr = value.args[0]
        return None

    def _is_field(self, value: relax.Call, field: int) -> bool:
        """Tell whether a slice is a field of an encoding."""
        encoding, axes = value.args[:2]
        if operator_of(self.values.get(encoding)) is not dynamic_encoding:
            return False
        wanted = R.strided_slice(encoding, axes, [field], [field + 1])
        one_each = (*spec_of(encoding).shape[:-1], 1)
        # Bounds print as tuples of numbers.
        given, others = ([str(each) for each in call.args[2:4]] for call in (value, wanted))
        return spec_of(value).shape == one_each and given == others

    def _biased(self, product: Any, shape: tuple[int, ...]) -> tuple[Any, Array | None]:
        """Return the last result that the kernel computes, and the bias, if it adds one."""
        readers = self.readers[product]
        ends = [each for each in readers if self._is_rounded(each, product)]
        if len(ends) != 1 or len(readers) != _OF_ROUNDED or self.uses[product] != len(readers):
            return product, None
        total = self._reader(ends[0], "add")
        bias = None if total is None else _columns(self._other(total, ends[0]), shape[-1])
        if bias is None or spec_of(total).shape != shape:
            return ends[0], None
        return total, bias

    def _is_rounded(self, variable: Any, product: Any) -> bool:
        """Tell whether a variable is the result of ``qnn_ops.arithmetic.rounded`` for a product."""
        return self._is_same(variable, rounded(product))

    def _is_same(self, expr: Any, wanted: relax.Expr) -> bool:
        """Tell whether two expressions of calls, constants and variables are the same."""
        number = constant_of(wanted)
        if number is not None:
            constant = constant_of(expr)
            return constant is not None and np.array_equal(constant, number)
        if not isinstance(wanted, relax.Call):
            return bool(expr.same_as(wanted))
        call = self.values.get(expr) if isinstance(expr, relax.Var) else None
        if call is None or operator_name(call) != operator_name(wanted):
            return False
        return all(map(self._is_same, call.args, wanted.args))

    def _reader(self, variable: Any, name: str) -> Any:
        """Return the only reader of a variable, if it calls this operator."""
        readers = self.readers[variable]
        if len(readers) != 1 or self.uses[variable] != 1:
            return None
        return readers[0] if operator_name(self.values[readers[0]]) == f"relax.{name}" else None

    def _other(self, variable: Any, operand: Any) -> relax.Expr:
        """Return the other operand of a variable's call."""
        lhs, rhs = self.values[variable].args
        return rhs if lhs.same_as(operand) else lhs


def _columns(expr: relax.Expr, units: int) -> Array | None:
    """Return a constant that broadcasts along columns, as one number for each column."""
    array = constant_of(expr)
    if array is None or (array.size != 1 and (array.size, array.shape[-1]) != (units, units)):
        return None
    return np.broadcast_to(array.reshape(-1), (units,))


def _has_rows(encoding: tuple[int, ...], field: tuple[int, ...], outer: tuple[int, ...]) -> bool:
    """Tell whether a field that broadcasts with sums gives each row its encoding's number."""
    if encoding == (FIELDS,) or prod(outer) == 1:
        return prod(field) == 1
    one_each = [size for size in field if size != 1] == [size for size in outer if size != 1]
    return prod(encoding) == FIELDS * prod(outer) and field[-1] == 1 and one_each
