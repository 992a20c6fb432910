from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tvm import relax
from tvm.relax import op as R

from legalize.kernels import attention as module_of_attention
from legalize.kernels.isa.vectors import vectors_for
from legalize.passes import multiply_floats
from qnn_ops.arithmetic.onnxruntime import ONNXRUNTIME
from qnn_ops.dialect.signature import ARITHMETIC
from tests.support.modules import module
from tvm_qnn import build, host_target
from tvm_qnn.library.library import Library

HAS_KERNEL = any(isa.fuses_products for isa in vectors_for(host_target())[:1])
Body = Callable[..., relax.Expr]


def heads(tokens: int, keys: int, depth: int, width: int) -> dict[str, tuple[int, ...]]:
    return {
        "q": (2, tokens, 3, depth),
        "k": (2, keys, 3, depth),
        "v": (2, keys, 3, width),
        "mask": (2, 1, 1, keys),
    }


def attention(q: relax.Expr, k: relax.Expr, v: relax.Expr, mask: relax.Expr) -> relax.Expr:
    """Read and write heads in place, with a scale and a mask before the softmax."""
    keys = R.permute_dims(k, [0, 2, 3, 1])
    scores = R.matmul(R.permute_dims(q, [0, 2, 1, 3]), keys)
    scores = R.add(R.multiply(scores, relax.const(np.float32(0.4))), mask)
    mixed = R.matmul(R.nn.softmax(scores), R.permute_dims(v, [0, 2, 1, 3]))
    return R.permute_dims(mixed, [0, 2, 1, 3])


def one_head(q: relax.Expr, k: relax.Expr, v: relax.Expr) -> relax.Expr:
    return R.matmul(R.nn.softmax(R.matmul(q, k)), v)


def twice(q: relax.Expr, k: relax.Expr, u: relax.Expr, v: relax.Expr) -> relax.Expr:
    return R.matmul(R.nn.softmax(one_head(q, k, u)), v)


def scores_too(q: relax.Expr, k: relax.Expr, v: relax.Expr) -> list[relax.Expr]:
    builder = relax.BlockBuilder.current()
    assert builder is not None
    scores = builder.emit(R.matmul(q, k))
    return [R.matmul(R.nn.softmax(scores), v), R.negative(scores)]


def logarithm(q: relax.Expr, k: relax.Expr, v: relax.Expr) -> relax.Expr:
    return R.matmul(R.nn.log_softmax(R.matmul(q, k)), v)


def flat(rows: int, columns: int, depth: int, width: int) -> dict[str, tuple[int, ...]]:
    return {"q": (rows, depth), "k": (depth, columns), "v": (columns, width)}


CASES: dict[str, tuple[Body, dict[str, tuple[int, ...]]]] = {
    "heads": (attention, heads(37, 48, 20, 40)),
    "columns that fill no vectors": (attention, heads(37, 50, 20, 40)),
    "few rows, wide values": (attention, heads(4, 16, 64, 150)),
    "long rows": (one_head, flat(100, 1600, 18, 33)),
    "one tile at a time": (one_head, flat(13, 4096, 16, 16)),
    "many products": (one_head, {"q": (9, 60, 16), "k": (9, 16, 64), "v": (9, 64, 16)}),
    "two softmaxes": (twice, {"q": (8, 600), "k": (600, 32), "u": (32, 48), "v": (48, 16)}),
}
SEVERAL: dict[str, tuple[Body, dict[str, tuple[int, ...]]]] = {
    "scores with another reader": (scores_too, flat(20, 32, 16, 16)),
    "a logarithm": (logarithm, flat(20, 32, 16, 16)),
}


def built(body: Body, inputs: dict[str, Any]) -> Library:
    mod = module(inputs, body)
    mod["main"] = mod["main"].with_attr(ARITHMETIC, ONNXRUNTIME)
    return build(mod, "host")


@pytest.fixture
def kernels(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    made = []

    def noted(*how: Any) -> Any:
        made.append(how)
        return write(*how)

    write = module_of_attention.attention
    monkeypatch.setattr(multiply_floats, "attention", noted)
    return made


@pytest.mark.parametrize("name", CASES)
def test_one_kernel_has_the_bits_of_several(
    monkeypatch: pytest.MonkeyPatch, kernels: list[Any], name: str
) -> None:
    body, shapes = CASES[name]
    rng = np.random.default_rng(4)
    given = {key: rng.normal(size=shape).astype(np.float32) for key, shape in shapes.items()}
    given["v"].ravel()[-1] = np.inf
    if "mask" in given:
        given["mask"][0, ..., 3:] = given["mask"][1] = -np.inf
    found = built(body, given).run(*given.values())
    assert len(kernels) == HAS_KERNEL
    monkeypatch.setattr(multiply_floats, "is_attention", lambda *_: False)
    np.testing.assert_array_equal(found, built(body, given).run(*given.values()))


@pytest.mark.parametrize("name", SEVERAL)
def test_other_attention_takes_several_kernels(kernels: list[Any], name: str) -> None:
    body, shapes = SEVERAL[name]
    built(body, {key: np.zeros(shape, np.float32) for key, shape in shapes.items()})
    assert not kernels
