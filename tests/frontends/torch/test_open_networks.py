"""Networks whose batch, and length, each run decides, against ExecuTorch at five sizes each."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tvm_qnn as qnn
from tvm_qnn.oracle.xnnpack import XnnpackSession

torch = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("executorch", reason="executorch is not installed")

from tests.frontends.torch.test_networks import CASES, Between  # noqa: E402
from tests.support.torch_networks import Small, mobilenet_v2, quantized, resnet18  # noqa: E402
from tools.prose.network import Network  # noqa: E402
from tools.prose.sizes import Sizes  # noqa: E402

pytestmark = pytest.mark.torch

SIZES = ((2, 7), (1, 2), (3, 33), (8, 5), (12, 64))
MOST_AT_TIES = 0.01
OF_TOKENS = 3
"""The axes of data that has a length."""


def between(name: str) -> Callable[[], Any]:
    function, channels, shape = CASES[name]
    return lambda: Between(function, channels=channels, rank=len(shape))


NETWORKS: dict[str, tuple[Callable[[], Any], tuple[int, ...]]] = {
    # ExecuTorch takes one batch only for what "halves" cuts by chunk.
    **{name: (between(name), shape) for name, (*_, shape) in CASES.items() if name != "halves"},
    "small": (Small, (2, 3, 16, 16)),
    "resnet18": (resnet18, (2, 3, 32, 32)),
    "mobilenet_v2": (mobilenet_v2, (2, 3, 32, 32)),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_every_size_is_the_delegates(name: str) -> None:
    network, shape = NETWORKS[name]
    dims = {0: torch.export.Dim("batch", max=16)}  # ExecuTorch has room for 15 pictures of these
    if len(shape) == OF_TOKENS:
        dims[1] = torch.export.Dim("length", max=64)
    torch.manual_seed(7)
    program = quantized(network(), shape, dynamic_shapes=(dims,))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some operators are float32 there, too
        mod, params = qnn.from_exported_program(program)
        library = qnn.build(mod, "host", params)
    session = XnnpackSession(program)  # lowering may fix sizes of the program itself
    for sizes in SIZES:
        data = np.random.default_rng(sizes[0]).normal(
            0, 1.2, (*sizes[: len(dims)], *shape[len(dims) :])
        )
        given = data.astype(np.float32)
        found = library.run(given)
        found = list(found.values()) if isinstance(found, dict) else [found]
        for result, expected in zip(found, session.run([given]), strict=True):
            np.testing.assert_array_equal(result, expected)


def test_a_language_model_takes_any_batch_and_length() -> None:
    torch.manual_seed(7)
    sizes = Sizes(layers=1, width=32, heads=4, shared=2, head=16, hidden=64, length=96)
    dims = {0: torch.export.Dim("batch", max=16), 1: torch.export.Dim("tokens", max=64)}
    ids = torch.randint(0, sizes.vocabulary, (2, 8))
    program = quantized(Network(sizes), ids, dynamic_shapes=(dims,))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # norms and softmax are float32 there, too
        mod, params = qnn.from_exported_program(program)
        library = qnn.build(mod, "host", params)
    module = program.module()
    for shape in SIZES:
        given = np.random.default_rng(shape[1]).integers(0, sizes.vocabulary, shape)
        with torch.no_grad():
            expected = module(torch.tensor(given)).numpy()
        # ExecuTorch does not run it. PyTorch sums floats in another order, and a sum near a tie
        # may become the next step of int8, for two layers one after the other.
        result = library.run(given)
        np.testing.assert_allclose(result, expected, atol=2.1 * np.abs(expected).max() / 127)
        assert np.mean(result != expected) < MOST_AT_TIES
    known, params = qnn.from_exported_program(program, {"ids": SIZES[-1]})
    np.testing.assert_array_equal(qnn.build(known, "host", params).run(given), result)
