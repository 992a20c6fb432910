from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import tvm
from tvm import relax, tirx
from tvm.relax import op as R

import tvm_qnn
from legalize.passes import MultiplyFloats
from qnn_ops import float_matmul
from qnn_ops.unquantized.float_conv2d import ORDERS
from tests.support.modules import module
from tvm_qnn.target.target import parse_target

RNG = np.random.default_rng(6)
HEADS = [0, 2, 1, 3]


@dataclass(frozen=True)
class Product:
    """A product of tensors of open sizes.

    Attributes:
        written: writes it in Relax.
        shapes: of both operands, given a batch and two lengths.
        transposes: how many stay.
    """

    written: Callable[[Any, Any], Any]
    shapes: Callable[[Any, Any, Any], tuple[Any, Any]]
    transposes: int = 0


PRODUCTS = {
    "keys": Product(
        lambda x, y: R.matmul(R.permute_dims(x, HEADS), R.permute_dims(y, [0, 2, 3, 1])),
        lambda batch, rows, length: ((batch, rows, 3, 20), (batch, length, 3, 20)),
    ),
    "panels": Product(
        lambda x, y: float_matmul(R.permute_dims(x, HEADS), R.permute_dims(y, HEADS), ORDERS[1]),
        lambda batch, rows, _: ((batch, rows, 3, 300), (batch, 300, 3, 40)),
    ),
    "heads": Product(
        lambda x, y: R.permute_dims(
            R.matmul(R.permute_dims(x, [0, 2, 3, 1]), R.permute_dims(y, HEADS)), HEADS
        ),
        lambda batch, rows, length: ((batch, length, 3, rows), (batch, length, 3, 40)),
    ),
    "columns of the result apart": Product(
        lambda x, y: R.permute_dims(R.matmul(x, y), [0, 1, 3, 2]),
        lambda batch, rows, length: ((batch, 3, rows, 20), (batch, 3, 20, length)),
        transposes=1,
    ),
    "an open depth in rows": Product(
        lambda x, y: R.matmul(x, R.permute_dims(y, [0, 2, 1])),
        lambda batch, rows, length: ((batch, rows, length), (batch, 40, length)),
        transposes=1,
    ),
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_products_of_any_size_have_the_bits_of_a_known_one(name: str) -> None:
    product, target = PRODUCTS[name], parse_target("host")

    def written(*sizes: Any) -> Any:
        shapes = zip("xy", product.shapes(*sizes), strict=True)
        types = {each: relax.TensorType(shape, "float32") for each, shape in shapes}
        return module(types, product.written)

    mod = written(*(tirx.Var(name, "int64") for name in ("batch", "rows", "length")))
    text = MultiplyFloats(tvm.target.Target({"kind": "llvm", "mcpu": "haswell"}))(mod).script()
    assert text.count("R.permute_dims(") == product.transposes
    assert "call_tir" in text
    library = tvm_qnn.build(mod, target, num_threads=1)
    for sizes in ((1, 4, 16), (2, 6, 65), (1, 13, 83), (3, 7, 150)):
        known = tvm_qnn.build(written(*sizes), target, num_threads=1)
        data = [RNG.normal(size=info.shape).astype(np.float32) for info in known.inputs]
        np.testing.assert_array_equal(library.run(*data), known.run(*data))
