"""Let operators write their results directly into the result of a concatenation."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import tvm
from tvm import relax
from tvm.relax.expr_functor import mutator

from legalize.kernels.isa.base import VectorIsa
from legalize.kernels.isa.vectors import vectors_for
from legalize.kernels.join.rules import copy_part
from legalize.kernels.kernel import Slice
from legalize.kernels.table import PARTS
from legalize.passes.rewriter import CallRewriter, first_found, module_pass
from legalize.qdq.group import operator_name
from qnn_ops import quantized_concat
from qnn_ops.dialect.attributes import QUANTIZED
from qnn_ops.dialect.registry import attrs_of, operator_of, spec_of
from qnn_ops.dialect.sizes import is_open
from qnn_ops.quantized.concat import conversion_table

_CONCAT = "relax.concat"

# The largest share of the channels that may still be copied.
_MOST_COPIED = 0.5


@dataclass(frozen=True)
class _Leaf:
    """A joined tensor.

    Attributes:
        tensor: the tensor before this pass.
        table: the function of its values; None if they stay the same.
    """

    tensor: relax.Expr
    table: Any


def JoinInPlace(target: tvm.target.Target) -> tvm.transform.Pass:
    """Make one tensor of the operands of a concatenation of channels, which come last.

    An operand is computed in place if only the concatenation reads it, unchanged, and a kernel for
    ``target`` can write it to channels of a larger tensor; the others are copied. If more than half
    would be copied, or one of float32, or one is a constant, nothing changes. A concatenation that
    only another concatenation reads becomes a part of that one.
    """
    rules_for = PARTS.serving(target)
    vectors = vectors_for(target)

    @mutator
    class _JoinInPlace(CallRewriter):
        def enter(self, function: relax.Function) -> bool:
            self.values = self.facts.values
            joins = [value for value in self.values.values() if _joins_channels(value)]
            # The concatenations that have become a part of another, by identity.
            self.inner = {
                self.values[field]
                for join in joins
                for index, field in enumerate(join.args[0].fields)
                if self._is_inner(join, index, field)
            }
            return bool(joins)

        def visit_call_(self, original: relax.Call) -> relax.Expr:
            call = self.builder_.normalize(self.visit_expr_post_order(original))
            if not _joins_channels(original) or not vectors or original in self.inner:
                return call
            leaves = list(self._leaves(original))
            # An expression of constants becomes a constant, which nothing can write to.
            if any(self._is_constant(leaf.tensor) for leaf in leaves):
                return call
            rules = [self._rules(leaf) for leaf in leaves]
            sizes = [int(spec_of(leaf.tensor).shape[-1]) for leaf in leaves]
            copied = sum(size for size, rule in zip(sizes, rules, strict=True) if not rule)
            if copied > _MOST_COPIED * sum(sizes):
                return call
            dtype = spec_of(call).dtype
            if copied and dtype not in QUANTIZED:
                return call
            joined = self._joined(dtype, leaves, rules, sizes, vectors[0])
            return call if joined is None else joined

        def _joined(
            self,
            dtype: str,
            leaves: list[_Leaf],
            rules: list[list[Any]],
            sizes: list[int],
            isa: VectorIsa,
        ) -> relax.Expr | None:
            """Write the joined tensor; None if a float would be copied, which no kernel does."""
            whole: relax.Expr | None = None
            first = 0
            for leaf, ways, size in zip(leaves, rules, sizes, strict=True):
                part = Slice(sum(sizes), first)
                first += size
                tensor = self.visit_expr(leaf.tensor)
                written = None
                if ways:
                    producer = self.lookup_binding(tensor)
                    written = first_found(
                        rule(self.builder_, producer, part, whole) for rule in ways
                    )
                if written is None:
                    if dtype not in QUANTIZED:
                        return None
                    written = copy_part(self.builder_, isa, tensor, leaf.table, part, dtype, whole)
                # The result keeps the operand's name, by which a profile identifies the operator.
                whole = self.builder_.emit(written, tensor.name)
            assert whole is not None
            return whole

        def _leaves(self, join: relax.Call) -> Iterator[_Leaf]:
            for index, field in enumerate(join.args[0].fields):
                if self._is_inner(join, index, field):
                    yield from self._leaves(self.values[field])
                else:
                    yield _Leaf(field, _table(join, index))

        def _is_inner(self, join: relax.Call, index: int, field: relax.Expr) -> bool:
            """Tell whether a field is a concatenation that only ``join`` reads, unchanged."""
            return (
                field in self.values
                and _joins_channels(self.values[field])
                and self.facts.uses[field] == 1
                and _table(join, index) is None
            )

        def _is_constant(self, tensor: relax.Expr) -> bool:
            return not isinstance(tensor, relax.Var) or tensor in self.facts.constants

        def _rules(self, leaf: _Leaf) -> list[Any]:
            """List the rules that could write a leaf in place."""
            if leaf.table is not None or self.facts.uses[leaf.tensor] != 1:
                return []
            return rules_for(self.values.get(leaf.tensor))

    return module_pass(_JoinInPlace, "JoinInPlace")


def _table(join: relax.Call, index: int) -> Any:
    """Tabulate the values of an input of a concatenation; None where they are copied."""
    is_float = operator_name(join) == _CONCAT
    return None if is_float else conversion_table(attrs_of(join), index)


def _joins_channels(value: relax.Expr | None) -> bool:
    """Tell whether a value joins non-empty tensors of NHWC data along the channels.

    They are of 8 bits, or float32.
    """
    is_float = operator_name(value) == _CONCAT
    if value is None or not (is_float or operator_of(value) is quantized_concat):
        return False
    if not isinstance(value.args[0], relax.Tuple):
        return False
    spec, attrs = spec_of(value), value.attrs if is_float else attrs_of(value)
    is_image = len(spec.shape) == 4 and attrs.axis is not None and int(attrs.axis) in (-1, 3)
    dtypes = ("float32",) if is_float else QUANTIZED
    return is_image and not is_open(spec.shape) and 0 not in spec.shape and spec.dtype in dtypes
