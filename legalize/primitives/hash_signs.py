"""hash_signs as loops."""

from __future__ import annotations

from typing import Any

from tvm import relax, tirx
from tvm.script.ir_builder import IRBuilder
from tvm.script.ir_builder import tirx as T

from legalize.primitives.loops import call_loops, cell, put
from legalize.primitives.registry import primitive
from qnn_ops.hash_signs import Words, fingerprint, hash_signs
from qnn_ops.registry import Attrs, TensorSpec, spec_of

# Below all products but infinite ones: of a float32 and an int64.
_LOWEST = -1e300


@primitive(hash_signs)
def _hash_signs(
    builder: relax.BlockBuilder,
    _: Attrs,
    items: relax.Expr,
    weights: relax.Expr,
    seeds: relax.Expr,
) -> relax.Expr:
    spec, (count,) = spec_of(items), spec_of(seeds).shape
    function = _function(spec, count)
    return call_loops(builder, "hash_signs", function, [items, weights, seeds], (count,), "int32")


def _function(spec: TensorSpec, count: int) -> tirx.PrimFunc:
    number, size = spec.shape
    with IRBuilder() as builder, T.prim_func(s_tir=True):
        T.func_name("hash_signs")
        T.func_attr({"global_symbol": "hash_signs", "tirx.noalias": True})
        items = T.arg("items", T.buffer((number, size), "uint8"))
        weights = T.arg("weights", T.buffer((number,), "float32"))
        seeds = T.arg("seeds", T.buffer((count,), "float32"))
        output = T.arg("output", T.buffer((count,), "int32"))
        with T.serial(count) as place:
            total = cell("float64", T.float64(0))
            with T.serial(number) as each:
                seed = T.Bind(T.Cast("uint64", T.reinterpret("uint32", seeds[place])))

                def byte(number: int, each: Any = each, seed: Any = seed) -> Any:
                    if number >= 4:
                        return T.Cast("uint64", items[each, number - 4])
                    return (seed >> T.uint64(8 * number)) & T.uint64(255)

                # TVM takes long over expressions in which it sees all that was computed before.
                words = Words(
                    size + 4,
                    byte,
                    lambda word: tirx.const(word, "uint64"),
                    lambda word: cell("uint64", word)[0],
                )
                signed = T.reinterpret("int64", fingerprint(words))
                weight = T.Cast("float64", weights[each])
                product = T.Bind(weight * T.Cast("float64", signed))
                # A choice, which changes no number, keeps product and sum from becoming one.
                rounded = T.Select(product < tirx.const(_LOWEST, "float64"), 2 * product, product)
                put(total, total[0] + rounded)
            T.buffer_store(output, T.Cast("int32", total[0] > T.float64(0)), [place])
    return builder.get()
