"""Let kernels multiply matrices of float32."""

from __future__ import annotations

from collections import Counter
from typing import Any

import tvm
from tvm import relax
from tvm.relax.expr_functor import PyExprMutator, mutator

from legalize.kernels.call import call_tir
from legalize.kernels.float_matmul.kernel import float_matmul
from legalize.kernels.float_matmul.open_sizes import OpenKernel
from legalize.kernels.float_matmul.spec import FloatMatmul, View, is_served
from legalize.kernels.isa.base import VectorIsa
from legalize.kernels.table import vectors_for
from legalize.passes.channels_last_rules import static_shape
from legalize.passes.rewriter import constant_variables, count_uses
from legalize.qdq.group import operator_name
from qnn_ops import float_matmul as float_matmul_op
from qnn_ops.dialect.registry import attrs_of, spec_of
from qnn_ops.dialect.sizes import is_open
from qnn_ops.unquantized.float_conv2d import ORDERS, panel_of

_PERMUTE, _FLOAT = "relax.permute_dims", "float32"
_ANY = 1 << 40
_PRODUCTS = ("relax.matmul", float_matmul_op.op.name)


def MultiplyFloats(target: tvm.target.Target) -> tvm.transform.Pass:
    """Replace ``float_matmul``, and Relax's ``matmul`` of float32, by a kernel, where it serves.

    The kernel's reads and writes include transposes of its operands and of its result.

    Args:
        target: without vectors, nothing is replaced.
    """
    vectors = vectors_for(target)

    def rewrite(mod: tvm.IRModule, _context: tvm.transform.PassContext) -> tvm.IRModule:
        rewriter = _MultiplyFloats(mod)
        for variable, function in mod.functions_items():
            if isinstance(function, relax.Function):
                rewriter.enter(function, vectors[0])
                rewriter.builder_.update_func(variable, rewriter.visit_expr(function))
        return relax.transform.DeadCodeElimination()(rewriter.builder_.finalize())

    if not vectors:
        return tvm.transform.Sequential([], name="MultiplyFloats")
    return tvm.transform.module_pass(rewrite, opt_level=0, name="MultiplyFloats")


@mutator
class _MultiplyFloats(PyExprMutator):
    def enter(self, function: relax.Function, isa: VectorIsa) -> None:
        """Find the products whose only reader changes the order of their axes."""
        self.isa = isa
        self.constants = constant_variables(function)
        self.values: dict[Any, relax.Expr] = {}
        self.moved: set[Any] = set()
        uses: Counter[Any] = count_uses(function)
        for block in function.body.blocks:
            for binding in block.bindings:
                value = self.values[binding.var] = binding.value
                if operator_name(value) == _PERMUTE and uses[value.args[0]] == 1:
                    product = self.values.get(value.args[0])
                    if product is not None and self._product(product, _order(value)) is not None:
                        self.moved.add(product)

    def visit_call_(self, call: relax.Call) -> relax.Expr:
        """Write a product as a kernel."""
        product, order = call, None
        if operator_name(call) == _PERMUTE and self.values.get(call.args[0]) in self.moved:
            product, order = self.values[call.args[0]], _order(call)
        elif call in self.moved:
            return self.visit_expr_post_order(call)
        found = self._product(product, order)
        if found is None:
            rebuilt = self.builder_.normalize(self.visit_expr_post_order(call))
            opened = self._of_open_sizes(call, rebuilt)
            return rebuilt if opened is None else opened
        spec, sources = found
        operands = [self.visit_expr(source) for source in sources]
        function, shape = float_matmul(self.isa, spec), spec.output.shape
        return call_tir(self.builder_, "float_matmul", function, operands, shape, "float32")

    def _of_open_sizes(self, original: relax.Call, call: relax.Call) -> relax.Expr | None:
        """Write a product of open sizes as a kernel; return None if it does not serve."""
        name = operator_name(call)
        if name not in _PRODUCTS or self._is_constant(original) or not self.isa.fuses_products:
            return None
        lhs, rhs, result = map(spec_of, (*call.args, call))
        sums = "" if name == _PRODUCTS[0] else attrs_of(call).order
        is_served = (
            is_open((*lhs.shape, *rhs.shape))
            and {lhs.dtype, rhs.dtype} == {_FLOAT}
            and min(len(lhs.shape), len(rhs.shape)) > 1
            and lhs.shape[:-2] == rhs.shape[:-2]
            and sums != ORDERS[0]
        )
        if not is_served:
            return None
        panel = panel_of(_ANY, rhs.shape[-1]) if sums else 0
        function = OpenKernel(self.isa, lhs.shape, rhs.shape, panel).build()
        operands = list(call.args)
        return call_tir(self.builder_, "float_matmul", function, operands, result.shape, _FLOAT)

    def _product(
        self, call: relax.Expr, order: tuple[int, ...] | None
    ) -> tuple[FloatMatmul, list[relax.Expr]] | None:
        """Describe a product, given the order of its result's axes, and return its operands.

        Returns:
            None if the kernel does not serve it.
        """
        name = operator_name(call)
        if name not in _PRODUCTS or self._is_constant(call):
            return None
        shapes = [static_shape(tensor) for tensor in (*call.args, call)]
        known = [shape for shape in shapes if shape is not None and len(shape) > 1]
        if len(known) < len(shapes) or {spec_of(each).dtype for each in call.args} != {_FLOAT}:
            return None
        shape = known[-1]
        axes = tuple(range(len(shape))) if order is None else order
        back = tuple(axes.index(axis) for axis in range(len(shape)))
        output = View(tuple(shape[axis] for axis in axes), back)
        (lhs, left), (rhs, right) = map(self._source, call.args, known)
        if 1 not in right.strides[-2:]:
            rhs, right = call.args[1], _plain(known[1])
        sums = "" if name == _PRODUCTS[0] else attrs_of(call).order
        panel = panel_of(*known[1][-2:]) if sums == ORDERS[1] else 0
        spec = FloatMatmul(left, right, output, sums != ORDERS[0], panel)
        return (spec, [lhs, rhs]) if is_served(spec, self.isa) else None

    def _source(self, operand: relax.Expr, shape: tuple[int, ...]) -> tuple[relax.Expr, View]:
        """Return the tensor in memory behind an operand, and the view of it that is read."""
        call = self.values.get(operand)
        order = None if call is None or self._is_constant(call) else _order(call)
        if call is None or order is None:
            return operand, _plain(shape)
        back = [order.index(axis) for axis in range(len(order))]
        return call.args[0], View(tuple(shape[axis] for axis in back), order)

    def _is_constant(self, call: relax.Expr) -> bool:
        return self.constants.issuperset(relax.analysis.free_vars(call))


def _plain(shape: tuple[int, ...]) -> View:
    return View(shape, tuple(range(len(shape))))


def _order(call: relax.Expr) -> tuple[int, ...] | None:
    """Return the order of axes of a transpose; None for any other call."""
    if not isinstance(call, relax.Call) or operator_name(call) != _PERMUTE:
        return None
    shape = static_shape(call)
    if shape is None:
        return None
    rank = len(shape)
    axes = call.attrs.axes or range(-1, -rank - 1, -1)
    return tuple(int(axis) % rank for axis in axes)
