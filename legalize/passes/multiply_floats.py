"""Let kernels multiply matrices of float32."""

from typing import Any, NamedTuple

import tvm
from tvm import relax, tirx
from tvm.relax.expr_functor import mutator

from legalize.kernels.attention import attention, is_attention
from legalize.kernels.call import call_tir, call_written
from legalize.kernels.float_conv2d.rules import multiply_rows
from legalize.kernels.float_matmul.kernel import float_matmul
from legalize.kernels.float_matmul.spec import FloatMatmul, View, is_served
from legalize.kernels.isa.base import VectorIsa
from legalize.kernels.isa.vectors import vectors_for
from legalize.kernels.softmax.floats import DESCRIPTION, Kernel
from legalize.passes.rewriter import CallRewriter, module_pass
from legalize.qdq.group import operator_name
from qnn_ops import float_matmul as float_matmul_op
from qnn_ops.dialect.registry import attrs_of, constant_of, spec_of
from qnn_ops.dialect.sizes import is_open
from qnn_ops.unquantized.float_conv2d import ORDERS, panel_of

_PERMUTE, _FLOAT = "relax.permute_dims", "float32"
_CALL, _RESHAPE = "relax.call_tir", "relax.reshape"
_RANK = 2
_PRODUCTS = ("relax.matmul", float_matmul_op.op.name)


class _Attention(NamedTuple):
    """The call of the first product, and the function of all with its operands."""

    scores: relax.Call
    function: tirx.PrimFunc
    operands: list[relax.Expr]


def MultiplyFloats(target: tvm.target.Target) -> tvm.transform.Pass:
    """Replace ``float_matmul``, and Relax's ``matmul`` of float32, by a kernel, if it serves.

    The kernel's reads and writes include transposes of its operands and of its result. One kernel
    computes two products and the softmax between them.

    Args:
        target: without vectors, nothing is replaced.
    """
    vectors = vectors_for(target)
    if not vectors:
        return tvm.transform.Sequential([], name="MultiplyFloats")
    return module_pass(lambda mod: _MultiplyFloats(mod, vectors[0]), "MultiplyFloats")


@mutator
class _MultiplyFloats(CallRewriter):
    operators = _PRODUCTS

    def __init__(self, mod: tvm.IRModule, isa: VectorIsa) -> None:
        super().__init__(mod)
        self.isa = isa

    def enter(self, function: relax.Function) -> bool:
        """Find products whose only reader orders their axes anew, softmaxes and attentions."""
        if not super().enter(function):
            return False
        self.values: dict[Any, relax.Expr] = self.facts.values
        self.moved: dict[Any, tuple[int, ...]] = {}
        self.softmaxes: dict[Any, str] = {}
        self.causal_columns: dict[Any, int] = {}
        self.causal_depth: dict[Any, int] = {}
        mod = self.builder_.get()
        for variable, value in self.values.items():
            if operator_name(value) == _PERMUTE and self.facts.uses[value.args[0]] == 1:
                product, order = self.values.get(value.args[0]), _order(value)
                if product is not None and order and self._product(product, order) is not None:
                    self.moved[product] = order
            if operator_name(value) == _CALL:
                text = (mod[value.args[0]].attrs or {}).get(DESCRIPTION)
                if text is not None:
                    self._note_softmax(variable, value, str(text))
        self.attentions: dict[Any, _Attention] = {}
        for call in self.values.values():
            if (found := self._attention(call)) is not None:
                self.attentions[call] = found
        self.inside = {each.scores for each in self.attentions.values()}
        return True

    def _note_softmax(self, result: Any, softmax: relax.Call, description: str) -> None:
        """Note a softmax's description; if it is causal, also the product before it."""
        self.softmaxes[result], kernel = description, Kernel.described(description)
        if not kernel.is_causal:
            return
        tokens = self.causal_depth[result] = kernel.shape[-2]
        product = self._read_once(softmax.args[1][0])
        if product in self.values:
            self.causal_columns[self.values[product]] = tokens

    def _read_once(self, tensor: Any) -> Any:
        """Return the tensor behind reshapes; None if another call reads it, too."""
        chain = self._behind_reshapes(tensor)
        return chain[-1] if all(self.facts.uses[each] == 1 for each in chain) else None

    def _attention(self, call: relax.Call) -> _Attention | None:
        """Describe the product, the softmax and the product that one kernel computes."""
        if operator_name(call) not in _PRODUCTS:
            return None
        result = self._read_once(call.args[0])
        if result not in self.softmaxes:
            return None
        data, *others = self.values[result].args[1]
        before = self.values.get(self._read_once(data))
        values = self._product(call, self.moved.get(call))
        scores = self._product(before, None)
        if scores is None or values is None or before in self.attentions:
            return None
        softmax = self.softmaxes[result]
        if not is_attention(scores[0], Kernel.described(softmax), values[0]):
            return None
        operands = [*scores[1], *others, values[1][1]]
        return _Attention(before, attention(self.isa, scores[0], softmax, values[0]), operands)

    def _behind_reshapes(self, tensor: Any) -> list[Any]:
        """Return a tensor and those with the same elements that it is made of."""
        chain = [tensor]
        while (value := self.values.get(chain[-1])) is not None:
            if operator_name(value) == _RESHAPE:
                chain.append(value.args[0])
            elif isinstance(value, relax.Var):
                chain.append(value)
            else:
                break
        return chain

    def visit_call_(self, call: relax.Call) -> relax.Expr:
        """Write a product as a kernel."""
        product, order = call, None
        if operator_name(call) == _PERMUTE and self.values.get(call.args[0]) in self.moved:
            product, order = self.values[call.args[0]], _order(call)
        elif call in self.moved or call in self.inside:
            return self.visit_expr_post_order(call)
        found = self._product(product, order)
        if found is not None and product in self.attentions:
            _, function, sources = self.attentions[product]
            operands = [self.visit_expr(source) for source in sources]
            return call_written(self.builder_, function, operands)
        if found is None:
            rebuilt = self.visit_expr_post_order(call)
            matrix = self._packed_matrix(call)
            if matrix is None:
                return rebuilt
            return multiply_rows(self.builder_, self.isa, rebuilt.args[0], matrix)
        spec, sources = found
        operands, shape = [self.visit_expr(source) for source in sources], spec.output.shape
        function = float_matmul(self.isa, spec)
        return call_tir(self.builder_, "float_matmul", function, operands, shape, _FLOAT)

    def _product(
        self, call: relax.Expr, order: tuple[int, ...] | None
    ) -> tuple[FloatMatmul, list[relax.Expr]] | None:
        """Describe a product, given the order of its result's axes.

        Returns:
            The product, and its operands in memory; None if no kernel serves it.
        """
        name = operator_name(call)
        if name not in _PRODUCTS or self.facts.is_constant(call):
            return None
        specs = [spec_of(tensor) for tensor in (*call.args, call)]
        shapes = [spec.shape for spec in specs if spec.dtype == _FLOAT and len(spec.shape) > 1]
        if len(shapes) < len(specs):
            return None
        axes = tuple(range(len(shapes[-1]))) if order is None else order
        back = tuple(axes.index(axis) for axis in range(len(axes)))
        output = View(tuple(shapes[-1][axis] for axis in axes), back)
        (lhs, left), (rhs, right) = map(self._source, call.args, shapes)
        sums = "" if name == _PRODUCTS[0] else attrs_of(call).order
        if sums == ORDERS[1] and is_open(shapes[1][-1:]):
            return None  # each run decides the length of its panels
        panel = panel_of(shapes[1][-1]) if sums == ORDERS[1] else 0
        weights = self._behind_reshapes(call.args[0])[-1]
        sizes = shapes[-1][-1], shapes[0][-1]
        depth = self.causal_depth.get(weights, 0)
        if 0 < panel < depth:  # only a sum of one chain can end early
            depth = 0
        counts = self.causal_columns.get(call, 0), depth
        causal = [
            count if count and size == count and shapes[-1][-2] % count == 0 else 0
            for size, count in zip(sizes, counts, strict=True)
        ]
        for source, view in ((rhs, right), (call.args[1], _plain(shapes[1]))):
            spec = FloatMatmul(left, view, output, sums != ORDERS[0], panel, *causal)
            if is_served(spec, self.isa):
                return spec, [lhs, source]
        return None

    def _packed_matrix(self, call: relax.Expr) -> Any:
        """Return the constant matrix by which rows are multiplied; None if there is none."""
        if operator_name(call) != _PRODUCTS[0] or not self.isa.fuses_products:
            return None
        specs, matrix = [spec_of(each) for each in call.args], constant_of(call.args[1])
        if matrix is None or matrix.ndim != _RANK or {each.dtype for each in specs} != {_FLOAT}:
            return None
        is_served = not is_open(specs[0].shape) and 0 not in specs[0].shape
        return matrix if is_served and matrix.shape[1] >= self.isa.lanes else None

    def _source(self, operand: relax.Expr, shape: tuple[int, ...]) -> tuple[relax.Expr, View]:
        """Return the tensor in memory behind an operand, and the view of it that is read."""
        call = self.values.get(operand)
        order = None if call is None or self.facts.is_constant(call) else _order(call)
        if call is None or order is None:
            return operand, _plain(shape)
        back = [order.index(axis) for axis in range(len(order))]
        return call.args[0], View(tuple(shape[axis] for axis in back), order)


def _plain(shape: tuple[int, ...]) -> View:
    return View(shape, tuple(range(len(shape))))


def _order(call: relax.Expr) -> tuple[int, ...] | None:
    """Return the order of axes of a transpose; None for any other call."""
    if not isinstance(call, relax.Call) or operator_name(call) != _PERMUTE:
        return None
    rank = len(spec_of(call).shape)
    axes = call.attrs.axes or range(-1, -rank - 1, -1)
    return tuple(int(axis) % rank for axis in axes)
