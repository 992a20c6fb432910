"""Affine forms of pairs of bytes and rounded products, as instructions compute them."""

import numpy as np
import pytest
from tvm.script.ir_builder import IRBuilder
from tvm.script.ir_builder import tirx as T

from legalize.kernels.isa.base import AffineForm
from legalize.kernels.isa.x86_vectors import AVX2, AVX512_VNNI, SSE41, X86Vectors
from qnn_ops.arrays import Array
from tests.support.x86 import needs_vnni, run

# Upper parts of factors are words when they are cut seven bits above the lowest one, up to here.
LARGEST = (1 << 22) - 65
MOST = 2**31 - 1


def forms_of(form: AffineForm, lhs: Array, rhs: Array) -> Array:
    """Compute the form of bytes, [n, 64], as four vectors in the order of packing."""
    with IRBuilder() as builder, T.prim_func(s_tir=True):
        T.func_name("forms")
        T.func_attr({"global_symbol": "forms"})
        left = T.arg("left", T.buffer(lhs.shape, "uint8"))
        right = T.arg("right", T.buffer(rhs.shape, "uint8"))
        output = T.arg("output", T.buffer(lhs.shape, "int32"))
        with T.serial(len(lhs)) as i:
            lanes = T.ramp(0, 1, 64)
            quarters = AVX512_VNNI.affine(form, left[i, lanes], right[i, lanes])
            for number, quarter in enumerate(quarters):
                T.buffer_store(output, quarter, [i, T.ramp(16 * number, 1, 16)])
    return run(builder.get(), [lhs, rhs], lhs.shape, "int32")


@needs_vnni
@pytest.mark.parametrize(
    ("lhs", "rhs", "addend"),
    [
        (2578693, 1573943, -14423539),
        (LARGEST, -LARGEST, 0),
        (LARGEST + 1, 5, -3),
        (-LARGEST - 2, 1 << 22, 12345),
        (63, -64, MOST - 255 * 127),
        (4 << 20, 4 << 20, MOST - 255 * (8 << 20)),
        (-70, -1, -MOST + 255 * 71),
        (0, 0, 7),
    ],
)
def test_every_pair_of_bytes_gives_the_affine_form(lhs: int, rhs: int, addend: int) -> None:
    left, right = np.meshgrid(np.arange(256), np.arange(256), indexing="ij")
    got = forms_of(
        AffineForm(lhs, rhs, addend, 0),
        left.astype(np.uint8).reshape(-1, 64),
        right.astype(np.uint8).reshape(-1, 64),
    )
    sums = (left * lhs + right * rhs + addend).reshape(-1, 4, 4, 4)
    # Each vector has four neighbours of each 16.
    np.testing.assert_array_equal(got, sums.transpose(0, 2, 1, 3).reshape(-1, 64))


@needs_vnni
@pytest.mark.parametrize(
    ("isa", "lanes"),
    [
        pytest.param(isa, lanes, id=f"{isa.name}-{lanes}")
        for isa in (AVX512_VNNI, AVX2, SSE41)
        for lanes in (2, 8, 16, 32)
        if 2 * lanes <= isa.size
    ],
)
def test_rounded_products_of_words(isa: X86Vectors, lanes: int) -> None:
    rng = np.random.default_rng(lanes)
    shape = (1000, lanes)
    lhs, rhs = (rng.integers(0, 1 << 15, shape).astype(np.uint16) for _ in range(2))
    lhs[0], rhs[0] = (1 << 15) - 1, (1 << 15) - 1
    with IRBuilder() as builder, T.prim_func(s_tir=True):
        T.func_name("products")
        T.func_attr({"global_symbol": "products"})
        left, right = (T.arg(name, T.buffer(shape, "uint16")) for name in ("left", "right"))
        output = T.arg("output", T.buffer(shape, "uint16"))
        with T.serial(len(lhs)) as i:
            every = T.ramp(0, 1, lanes)
            T.buffer_store(output, isa.rounded_words(left[i, every], right[i, every]), [i, every])
    got = run(builder.get(), [lhs, rhs], shape, "uint16")
    np.testing.assert_array_equal(got, (lhs.astype(np.int64) * rhs + (1 << 14)) >> 15)
