from __future__ import annotations

import warnings
from importlib.metadata import entry_points
from typing import Any

import numpy as np
import pytest

from qnn_ops.errors import QnnError

torch = pytest.importorskip("torch", reason="torch is not installed")

from tests.support.torch_networks import quantized  # noqa: E402
from tvm_qnn.dynamo import EagerWarning, backend  # noqa: E402
from tvm_qnn.oracle import xnnpack_outputs  # noqa: E402

pytestmark = pytest.mark.torch


def network() -> Any:
    torch.manual_seed(0)
    layers = torch.nn.Conv2d(3, 8, 3, stride=2, padding=1), torch.nn.ReLU()
    last = torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(8, 10)
    return torch.nn.Sequential(*layers, *last).eval()


def compiled(model: Any) -> Any:
    torch._dynamo.reset()
    return torch.compile(model, backend=backend, options={"num_threads": 1})


def test_pytorch_finds_the_backend() -> None:
    (found,) = entry_points(group="torch_dynamo_backends", name="tvm_qnn")
    assert found.load() is backend


def test_a_quantized_model_computes_what_the_delegate_does() -> None:
    image = torch.randn(2, 3, 32, 32)
    program = quantized(network(), (2, 3, 32, 32))
    expected = xnnpack_outputs(program, [image.numpy()])[0]
    run = compiled(program.module())
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("error", EagerWarning)
        for _ in range(2):
            np.testing.assert_array_equal(run(image).numpy(), expected)


@pytest.mark.filterwarnings("ignore:computed in float32")
def test_other_shapes_are_built_as_they_come() -> None:
    model = network()
    run = compiled(model)
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("error", EagerWarning)
        for batch in (1, 3, 5, 3):
            image = torch.randn(batch, 3, 32, 32)
            torch.testing.assert_close(run(image), model(image), atol=1e-5, rtol=1e-5)


@pytest.mark.filterwarnings("ignore:computed in float32")
def test_changed_weights_are_seen() -> None:
    model, image = network(), torch.randn(1, 3, 32, 32)
    run = compiled(model)
    with torch.no_grad():
        run(image)
        model[0].weight.mul_(2)
        torch.testing.assert_close(run(image), model(image), atol=1e-5, rtol=1e-5)
        model[4].weight = torch.nn.Parameter(torch.randn(10, 8))
        torch.testing.assert_close(run(image), model(image), atol=1e-5, rtol=1e-5)


def test_what_is_not_imported_runs_in_pytorch_and_says_why() -> None:
    run = compiled(lambda x: torch.linalg.svd(x)[1] + 1)
    x = torch.randn(4, 4)
    with pytest.warns(EagerWarning, match="operator 0 _linalg_svd.default: no conversion rule"):
        first = run(x)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert torch.equal(run(x), first)
    assert torch.equal(first, torch.linalg.svd(x)[1] + 1)


def test_a_graph_that_writes_to_its_input_runs_in_pytorch() -> None:
    def add_one(x: Any) -> Any:
        return x.add_(1) * 2

    x = torch.zeros(3)
    with pytest.warns(EagerWarning, match="the program changes its buffers or inputs"):
        assert compiled(add_one)(x).tolist() == [2, 2, 2]
    assert x.tolist() == [1, 1, 1]


@pytest.mark.filterwarnings("ignore:computed in float32")
def test_gradients_are_pytorchs() -> None:
    x = torch.ones(3, requires_grad=True)
    compiled(lambda x: x * x)(x).sum().backward()
    assert x.grad.tolist() == [2, 2, 2]


def test_options_are_checked() -> None:
    torch._dynamo.reset()
    run = torch.compile(network(), backend=backend, options={"targets": "host"})
    with pytest.raises(Exception, match=r"options are target, num_threads, got \['targets'\]"):
        run(torch.zeros(1, 3, 32, 32))
    with pytest.raises(QnnError, match="options are target"):
        backend(torch.fx.symbolic_trace(network()), [], options={"threads": 1})
