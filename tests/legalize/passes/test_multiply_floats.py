from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import pytest
import tvm
from tvm import relax, tirx
from tvm.relax import op as R

from legalize.kernels.float_matmul.kernel import TileKernel
from legalize.kernels.float_matmul.kernel import float_matmul as float_matmul_kernel
from legalize.kernels.float_matmul.spec import FloatMatmul
from legalize.kernels.ir.sums import tile_size
from legalize.kernels.isa.base import VectorIsa
from legalize.kernels.isa.vectors import vectors_for
from legalize.kernels.kernel import IS_KERNEL
from legalize.passes import multiply_floats
from legalize.passes.multiply_floats import MultiplyFloats
from qnn_ops import float_matmul
from qnn_ops.arithmetic.float_epilogue import fused_multiply_add_float32
from qnn_ops.arithmetic.onnxruntime import ONNXRUNTIME
from qnn_ops.arrays import Array
from qnn_ops.dialect.signature import ARITHMETIC
from qnn_ops.unquantized.float_conv2d import ORDERS
from tests.support.kernels import FUSING, REGISTERS, Place, at
from tests.support.modules import calls_of, module
from tests.support.operators import run
from tests.support.programs import Case
from tvm_qnn import build, host_target
from tvm_qnn.library.library import Library

HASWELL = tvm.target.Target({"kind": "llvm", "mcpu": "haswell"})


@dataclass(frozen=True)
class Product:
    """A product of two tensors.

    Attributes:
        lhs: shape of the first.
        rhs: of the second.
        written: writes it in Relax.
        computed: the matrices, and the axes of the result, in numpy.
        known: sizes that stay known where others are open.
    """

    lhs: tuple[int, ...]
    rhs: tuple[int, ...]
    written: Callable[[relax.Expr, relax.Expr], relax.Expr]
    computed: Callable[[Array, Array], tuple[Array, Array, tuple[int, ...]]]
    known: tuple[int, ...] = ()

    def of(self, size_of: Callable[[int], Any]) -> Product:
        """Return the product with other sizes."""
        lhs, rhs = (
            tuple(each if each in self.known else size_of(each) for each in shape)
            for shape in (self.lhs, self.rhs)
        )
        return replace(self, lhs=lhs, rhs=rhs)

    def opened(self, sizes: str) -> Product:
        """Return the product with variables as sizes, if these are "open"."""
        variable = cache(lambda size: tirx.Var(f"size_{size}", "int64"))
        return self.of(variable) if sizes == "open" else self


def plain(lhs: tuple[int, ...], rhs: tuple[int, ...]) -> Product:
    order = tuple(range(len(lhs)))
    return Product(lhs, rhs, R.matmul, lambda x, y: (x, y, order))


PRODUCTS = {
    "whole tiles": plain((12, 32), (32, 64)),
    "columns left": plain((13, 21), (21, 83)),
    "fewer rows than a tile": plain((5, 16), (16, 16)),
    "deep": plain((7, 300), (300, 39)),
    "batches": plain((2, 3, 9, 18), (2, 3, 18, 20)),
    "one matrix for several": plain((2, 3, 9, 18), (3, 18, 70)),
    "matrices of both for several": replace(plain((2, 1, 9, 18), (1, 3, 18, 70)), known=(1,)),
    # Queries and keys, and the values that they weigh, in the layout of heads of attention.
    "keys": Product(
        (2, 9, 3, 20),
        (2, 35, 3, 20),
        lambda x, y: R.matmul(R.permute_dims(x, [0, 2, 1, 3]), R.permute_dims(y, [0, 2, 3, 1])),
        lambda x, y: (x.transpose(0, 2, 1, 3), y.transpose(0, 2, 3, 1), (0, 1, 2, 3)),
        known=(20,),
    ),
    "heads": Product(
        (2, 3, 9, 35),
        (2, 35, 3, 20),
        lambda x, y: R.permute_dims(R.matmul(x, R.permute_dims(y, [0, 2, 1, 3])), [0, 2, 1, 3]),
        lambda x, y: (x, y.transpose(0, 2, 1, 3), (0, 2, 1, 3)),
    ),
    # Its columns lie in no run, and are put into one first.
    "columns apart": Product(
        (18, 17),
        (17, 18, 2),
        lambda x, y: R.matmul(x, R.permute_dims(y, [2, 0, 1])),
        lambda x, y: (x[None], y.transpose(2, 0, 1), (0, 1, 2)),
    ),
    "rows of lhs apart": Product(
        (18, 17),
        (18, 40),
        lambda x, y: R.matmul(R.permute_dims(x), y),
        lambda x, y: (x.T, y, (0, 1)),
    ),
}


def chain(lhs: Array, rhs: Array) -> Array:
    """Products that are fused with their sums, in order of depth."""
    outer = np.broadcast_shapes(lhs.shape[:-2], rhs.shape[:-2])
    total = np.zeros((*outer, lhs.shape[-2], rhs.shape[-1]), np.float32)
    for k in range(lhs.shape[-1]):
        terms = np.broadcast_arrays(lhs[..., :, k, None], rhs[..., None, k, :], total)
        total = fused_multiply_add_float32(*terms)
    return total


def written(product: Product) -> tvm.IRModule:
    types = {
        name: relax.TensorType(shape, "float32")
        for name, shape in (("x", product.lhs), ("y", product.rhs))
    }
    return module(types, product.written)


def kernels(mod: tvm.IRModule) -> list[Any]:
    return [
        function.with_attr("global_symbol", variable.name_hint)
        for variable, function in mod.functions_items()
        if function.attrs is not None and IS_KERNEL in function.attrs
    ]


def operators(mod: tvm.IRModule) -> list[str]:
    """The names of Relax's own operators that main still calls."""
    names = [str(call.op.name) for call in calls_of(mod)]
    return [name for name in names if name != "relax.call_tir"]


SIZES: dict[str, list[Callable[[int], int]]] = {
    "known": [lambda size: size],
    "open": [
        lambda size: size,
        lambda size: size + 3,
        lambda size: 1,
        lambda size: size if size > 40 else max(size // 3, min(size, 2)),  # few rows
    ],
}
"""The sizes that a kernel is called with, from the product's own: known or open ones."""


def check(
    place: Place, sizes: str, named: Mapping[str, Product], sums: Callable[[Array, Array], Array]
) -> None:
    """Assert that kernels of products give the sums of their matrices."""
    rng, cases, expected = np.random.default_rng(1), [], []
    for name, product in named.items():
        mod = written(product.opened(sizes))
        (function,) = kernels(MultiplyFloats(tvm.target.Target(place.target))(mod))
        for size_of in SIZES[sizes]:
            own = product.of(size_of)
            lhs, rhs = (rng.normal(size=each).astype(np.float32) for each in (own.lhs, own.rhs))
            left, right, order = product.computed(lhs, rhs)
            expected.append(sums(left, right).transpose(order))
            operands = [lhs, np.ascontiguousarray(right) if name == "columns apart" else rhs]
            cases.append(Case(function, operands, expected[-1].shape, "float32"))
    for case, result, wanted in zip(cases, place.run(cases), expected, strict=True):
        shapes = [each.shape for each in case.inputs]
        np.testing.assert_array_equal(result, wanted, err_msg=str(shapes))


each_size = pytest.mark.parametrize("sizes", SIZES)


@each_size
@at(FUSING)
def test_sums_are_chains_of_fused_products(place: Place, sizes: str) -> None:
    check(place, sizes, PRODUCTS, chain)


@each_size
@pytest.mark.parametrize("order", ORDERS[:2])
@at(REGISTERS)
def test_sums_have_the_order_that_is_stated(place: Place, order: str, sizes: str) -> None:
    if order != ORDERS[0] and place not in FUSING:
        pytest.skip("products are rounded apart there")
    shapes = [((7, 300), (300, 39))]
    if order == ORDERS[1]:
        shapes += [((2, 300), (300, 150)), ((3, 1100), (1100, 5))]
    products = {
        str(each): replace(
            plain(*each), written=lambda x, y: float_matmul(x, y, order), known=(5, 39, 150)
        )
        for each in shapes
    }
    check(place, sizes, products, lambda x, y: float_matmul.evaluate(x, y, order))


@each_size
@pytest.mark.parametrize("name", PRODUCTS)
def test_orders_of_axes_are_no_copies(name: str, sizes: str) -> None:
    left = operators(MultiplyFloats(HASWELL)(written(PRODUCTS[name].opened(sizes))))
    assert left == (["relax.permute_dims"] if name == "columns apart" else [])


@each_size
def test_transposes_that_stay(sizes: str) -> None:
    apart = replace(
        plain((3, 9, 20), (3, 20, 70)),
        written=lambda x, y: R.permute_dims(R.matmul(x, y), [0, 2, 1]),
    )
    # Squares are transposed in registers: of a depth that may be less than one, none is.
    open_depth = replace(PRODUCTS["keys"], known=())
    for product, count in ((apart, 1), (open_depth, int(sizes == "open"))):
        mod = MultiplyFloats(HASWELL)(written(product.opened(sizes)))
        assert len(kernels(mod)) == 1
        assert operators(mod) == ["relax.permute_dims"] * count


def test_a_product_stays_if_its_panels_depend_on_the_run() -> None:
    product = plain((9, 300), (300, 70)).opened("open")
    ordered = replace(product, written=lambda x, y: float_matmul(x, y, ORDERS[1]))
    assert not kernels(MultiplyFloats(HASWELL)(written(ordered)))


def test_a_result_with_another_reader_is_kept() -> None:
    types = {name: relax.TensorType((2, 16, 16), "float32") for name in "xy"}

    def both(x: relax.Expr, y: relax.Expr) -> list[relax.Expr]:
        product = R.matmul(x, y)
        builder = relax.BlockBuilder.current()
        assert builder is not None
        product = builder.emit(product)
        return [R.permute_dims(product, [1, 0, 2]), R.negative(product)]

    mod = MultiplyFloats(HASWELL)(module(types, both))
    assert len(kernels(mod)) == 1
    assert sorted(operators(mod)) == ["relax.negative", "relax.permute_dims"]


@pytest.mark.parametrize(
    ("lhs", "rhs", "dtype"),
    [
        ((3, 16), (16, 16), "float32"),  # few rows
        ((16, 16), (16, 7), "float32"),  # few columns
        ((16, 7), (7, 16), "float32"),  # short sums
        ((16,), (16, 16), "float32"),
        ((16, 16), (16, 16), "float64"),
    ],
)
def test_other_products_are_left_to_tvm(
    lhs: tuple[int, ...], rhs: tuple[int, ...], dtype: str
) -> None:
    types = {"x": relax.TensorType(lhs, dtype), "y": relax.TensorType(rhs, dtype)}
    assert not kernels(MultiplyFloats(HASWELL)(module(types, R.matmul)))


@pytest.mark.parametrize("mcpu", ["x86-64", "nehalem"])
def test_processors_that_fuse_no_products_are_left_to_tvm(mcpu: str) -> None:
    target = tvm.target.Target({"kind": "llvm", "mcpu": mcpu})
    assert not kernels(MultiplyFloats(target)(written(PRODUCTS["whole tiles"])))


def test_tiles_have_few_rows_that_are_computed_twice() -> None:
    assert [tile_size(rows, 6) for rows in (4, 5, 6, 7, 9, 12, 128)] == [4, 5, 6, 4, 5, 6, 6]


def test_a_few_rows_by_a_constant() -> None:
    rng = np.random.default_rng(5)
    for rows, depth, columns in (((1,), 40, 70), ((2, 1), 300, 33)):
        lhs = rng.normal(size=(*rows, depth)).astype(np.float32)
        matrix = rng.normal(size=(depth, columns)).astype(np.float32)
        ty = relax.TensorType(lhs.shape, "float32")
        mod = module({"x": ty}, lambda x, matrix=matrix: R.matmul(x, relax.const(matrix)))
        (kernel,) = kernels(written := MultiplyFloats(HASWELL)(mod))
        assert str(kernel.attrs["global_symbol"]).startswith("float_rows")
        wanted = np.zeros((*rows, columns), np.float32)
        for k in range(depth):
            wanted = fused_multiply_add_float32(lhs[..., k : k + 1], matrix[k], wanted)
        np.testing.assert_array_equal(
            run(written, [lhs], {"kind": "llvm", "mcpu": "haswell"}), wanted
        )


@pytest.mark.parametrize(("tokens", "ends"), [(128, 128), (129, 0)])
def test_only_sums_of_one_chain_end_early(
    monkeypatch: pytest.MonkeyPatch, tokens: int, ends: int
) -> None:
    specs = []

    def noted(isa: VectorIsa, spec: FloatMatmul) -> tirx.PrimFunc:
        specs.append(spec)
        return float_matmul_kernel(isa, spec)

    monkeypatch.setattr(multiply_floats, "float_matmul", noted)
    types = [relax.TensorType((1, tokens, size), "float32") for size in (tokens, 80)]
    seen = relax.const(np.tri(tokens, dtype=bool)[None])

    def body(scores: relax.Expr, values: relax.Expr) -> relax.Expr:
        weights = R.nn.softmax(R.where(seen, scores, relax.const(np.float32(-np.inf))), 2)
        return float_matmul(weights, values, order=ORDERS[1])

    mod = module(dict(zip(("scores", "values"), types, strict=True)), body)
    mod["main"] = mod["main"].with_attr(ARITHMETIC, ONNXRUNTIME)
    build(mod, {"kind": "llvm", "mcpu": "haswell"})
    assert [(spec.panel, spec.causal_depth) for spec in specs] == [(128, ends)]


def test_a_narrow_constant_stays() -> None:
    ty = relax.TensorType((1, 40), "float32")
    narrow = relax.const(np.ones((40, 7), np.float32))
    assert not kernels(MultiplyFloats(HASWELL)(module({"x": ty}, lambda x: R.matmul(x, narrow))))


WIDTH = 20


@pytest.mark.parametrize("tokens", [70, 80])
@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("joined", [False, True])
def test_a_prompt_has_the_bits_of_whole_matrices(
    monkeypatch: pytest.MonkeyPatch, *, joined: bool, shared: bool, tokens: int
) -> None:
    if not joined:
        monkeypatch.setattr(multiply_floats, "is_attention", lambda *_: False)
    specs = []

    def noted(self: TileKernel, isa: VectorIsa, spec: FloatMatmul, *buffers: Any) -> None:
        specs.append((spec.causal_columns, spec.causal_depth))
        init(self, isa, spec, *buffers)

    init = TileKernel.__init__
    float_matmul_kernel.cache_clear()
    monkeypatch.setattr(TileKernel, "__init__", noted)
    rng, keys = np.random.default_rng(2), 1 if shared else 2
    q, k, v = (
        rng.normal(size=(1, heads, tokens, WIDTH)).astype(np.float32) for heads in (2, keys, keys)
    )
    seen = np.tri(tokens, dtype=bool)[None, None]
    rows = (1, keys, 2 // keys * tokens)

    def attention(q: relax.Expr, k: relax.Expr, v: relax.Expr, seen: relax.Expr) -> relax.Expr:
        folded = R.reshape(q, (*rows, WIDTH))
        products = R.matmul(folded, R.permute_dims(k, [0, 1, 3, 2]))
        scores = R.multiply(R.reshape(products, (1, 2, tokens, tokens)), relax.const(0.3))
        lowest = relax.const(np.finfo(np.float32).min)
        weights = R.nn.softmax(R.where(seen, scores, lowest), 3)
        return R.matmul(R.reshape(weights, (*rows, tokens)), v)

    def built(inputs: dict[str, Array], body: Callable[..., relax.Expr]) -> Library:
        mod = module(inputs, body)
        mod["main"] = mod["main"].with_attr(ARITHMETIC, ONNXRUNTIME)
        return build(mod, "host")

    given = {"q": q, "k": k, "v": v}
    whole = built({**given, "seen": seen}, attention)
    short = built(given, lambda q, k, v: attention(q, k, v, relax.const(seen)))
    kinds = [(0, 0), (0, 0), (tokens, 0), (0, tokens)]
    fuses = [isa.fuses_products for isa in vectors_for(host_target())[:1]]
    assert specs == (kinds if fuses == [True] else [])  # a processor may have no kernel
    infinite, tiny, hidden = v.copy(), -np.abs(v) * np.float32(1e-45), k.copy()
    infinite[0, 0, -1, :3] = np.inf, -np.inf, np.nan
    tiny[0, 0, -1, ::2] = 1
    hidden[0, 0, 0] = -np.inf * np.sign(q[0, 0, 0])  # the first row has no score above the lowest
    for data in ((q, k, v), (q, k, infinite), (q, k, tiny), (q, hidden, v)):
        wanted, found = whole.run(*data, seen), short.run(*data)
        np.testing.assert_array_equal(found, wanted)
        np.testing.assert_array_equal(np.signbit(found), np.signbit(wanted))
