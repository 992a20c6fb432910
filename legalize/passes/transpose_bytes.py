"""Let kernels transpose bytes."""

from __future__ import annotations

import tvm
from tvm import relax
from tvm.relax.expr_functor import PyExprMutator, mutator

from legalize.kernels.call import call_tir
from legalize.kernels.table import vectors_for
from legalize.kernels.transpose.kernel import is_served, transpose
from legalize.passes.channels_last_rules import static_shape
from legalize.passes.rewriter import constant_variables
from qnn_ops.dialect.checks import QUANTIZED
from qnn_ops.dialect.registry import constant_of, spec_of


def TransposeBytes(target: tvm.target.Target) -> tvm.transform.Pass:
    """Replace Relax's ``permute_dims`` of bytes by a kernel, if it serves.

    TVM's own loops divide to find each byte.

    Args:
        target: without vectors, nothing is replaced.
    """
    vectors = vectors_for(target)
    permute = tvm.ir.Op.get("relax.permute_dims")

    @mutator
    class _TransposeBytes(PyExprMutator):
        constants: set[relax.Var]

        def visit_call_(self, call: relax.Call) -> relax.Expr:
            rebuilt = self.visit_expr_post_order(call)
            if rebuilt.op != permute or call.args[0] in self.constants:
                return rebuilt
            data = rebuilt.args[0]
            if constant_of(data) is not None or static_shape(data) is None:
                return rebuilt
            spec, axes = spec_of(data), rebuilt.attrs.axes
            rank = len(spec.shape)
            order = tuple(int(axis) % rank for axis in axes or range(-1, -rank - 1, -1))
            if spec.dtype not in QUANTIZED or not is_served(spec.shape, order):
                return rebuilt
            function = transpose(vectors[0].size, spec.shape, order, spec.dtype)
            shape = tuple(spec.shape[axis] for axis in order)
            return call_tir(self.builder_, "transpose", function, [data], shape, spec.dtype)

    def rewrite(mod: tvm.IRModule, _context: tvm.transform.PassContext) -> tvm.IRModule:
        rewriter = _TransposeBytes(mod)
        for variable, function in mod.functions_items():
            if isinstance(function, relax.Function):
                rewriter.constants = constant_variables(function)
                rewriter.builder_.update_func(variable, rewriter.visit_expr(function))
        return rewriter.builder_.finalize()

    if not vectors:
        return tvm.transform.Sequential([], name="TransposeBytes")
    return tvm.transform.module_pass(rewrite, opt_level=0, name="TransposeBytes")
