import warnings
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import entry_points
from typing import Any
from unittest import mock

import numpy as np
import pytest

from qnn_ops.errors import QnnError

torch = pytest.importorskip("torch", reason="torch is not installed")

from tests.support.torch_networks import quantized  # noqa: E402
from tests.tvm_qnn.dynamo_programs import PROGRAMS  # noqa: E402
from tvm_qnn.dynamo import EagerWarning, backend  # noqa: E402
from tvm_qnn.library.library import Library  # noqa: E402
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


@pytest.mark.filterwarnings("ignore:computed in float32")
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_a_program_changes_one_line(program: Any) -> None:
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("error", EagerWarning)
        # Sums of floats have another order.
        torch.testing.assert_close(
            program(compiled), program(lambda model: model), rtol=1e-4, atol=1e-5
        )


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
    with pytest.warns(EagerWarning, match="_linalg_svd.default: no conversion rule"):
        first = run(x)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert torch.equal(run(x), first)
    assert torch.equal(first, torch.linalg.svd(x)[1] + 1)


def test_parts_that_are_imported_run_as_integer_code() -> None:
    first, last = (quantized(network(), (2, 3, 32, 32)).module() for _ in "ab")

    def between(image: Any) -> Any:
        spread = torch.linalg.svd(first(image))[1]
        return last(image * spread[0]), spread

    image = torch.randn(2, 3, 32, 32)
    run = compiled(between)
    with mock.patch.object(Library, "run", side_effect=Library.run, autospec=True) as ran:
        with torch.no_grad(), pytest.warns(EagerWarning) as told:
            found, spread = run(image)
        assert ran.call_count == 2
        silent(run, image)
    (text,) = {str(each.message) for each in told if each.category is EagerWarning}
    assert text.startswith("operators run in PyTorch, not in tvm_qnn: _linalg_svd.default: no conv")
    program = quantized(network(), (2, 3, 32, 32))
    scores = torch.from_numpy(xnnpack_outputs(program, [image.numpy()])[0])
    torch.testing.assert_close(spread, torch.linalg.svd(scores)[1])
    scaled = (image * spread[0]).numpy()
    np.testing.assert_array_equal(found.numpy(), xnnpack_outputs(program, [scaled])[0])


@pytest.mark.filterwarnings("ignore:computed in float32")
def test_functions_of_float32_are_pytorchs() -> None:
    def function(x: Any, i: Any) -> Any:
        bounded = torch.relu(x), torch.clamp(x, -1, 1), torch.nn.functional.relu6(x)
        pairs = torch.maximum(x, -x), x.amax(-1), x.amin(-1), torch.clamp(i, min=0.5)
        both = torch.nn.functional.hardtanh(torch.relu(x + x), -0.5, 0.5)
        return *bounded, *pairs, both, torch.nn.functional.gelu(x, approximate="tanh")

    x = torch.randn(5, 40)
    x[0, 3] = torch.nan
    i = torch.arange(-2, 5)
    found, wanted = silent(compiled(function), x, i), function(x, i)
    torch.testing.assert_close(found, wanted, rtol=1e-6, atol=1e-6, equal_nan=True)


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


def silent(function: Any, *inputs: Any) -> Any:
    """Return what a compiled function gives, and assert that nothing of it ran in PyTorch."""
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("error", EagerWarning)
        return function(*inputs)


def test_random_numbers_are_drawn_by_every_call() -> None:
    run = compiled(torch.nn.Dropout(0.5).train())
    with pytest.warns(EagerWarning, match="dropout.default: it is random"), torch.no_grad():
        first, second = run(torch.ones(300)), run(torch.ones(300))
    assert not torch.equal(first, second)


VIEWS = {
    "of an input": lambda x: (x.view(-1), x + 1),
    "of another output": lambda x: ((y := x + 1).view(-1), y),
    "of what stays inside": lambda x: ((y := x + 1)[0], y.t()),
}


@pytest.mark.filterwarnings("ignore:computed in float32")
@pytest.mark.parametrize("name", VIEWS)
def test_outputs_share_memory_as_in_pytorch(name: str) -> None:
    run, x, y = compiled(VIEWS[name]), torch.zeros(2, 2), torch.zeros(2, 2)
    with pytest.warns(EagerWarning, match="shares memory with an input or another output"):
        results, wanted = run(x), VIEWS[name](y)
    for each in (results, wanted):
        each[0].add_(1)
    torch.testing.assert_close((x, *results), (y, *wanted))


@pytest.mark.filterwarnings("ignore:computed in float32")
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
def test_bfloat16_is_pytorchs(dtype: Any) -> None:
    x = torch.randn(64).to(dtype)
    run = compiled(lambda x: (x.bfloat16() * 2 + 1).float())
    with pytest.warns(EagerWarning, match="it computes in bfloat16"):
        assert torch.equal(run(x), (x.bfloat16() * 2 + 1).float())


def test_integers_divided_by_zero_are_an_error_and_no_crash() -> None:
    run, ones = compiled(lambda x, y: x // y), torch.ones(3, dtype=torch.int64)
    with pytest.warns(EagerWarning, match="divides integers by numbers that may be 0"):
        assert torch.equal(run(ones, ones), ones)
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        run(ones, ones * 0)


def test_tensors_that_numpy_cannot_read_are_pytorchs() -> None:
    run = compiled(lambda x: torch.func.grad(lambda y: (y * y).sum())(x) + 1)
    with pytest.warns(EagerWarning, match="not supported for tensor subclasses"):
        assert run(torch.ones(3)).tolist() == [3, 3, 3]


def test_parameters_that_want_gradients_get_them() -> None:
    model, x = torch.nn.Linear(4, 2), torch.ones(1, 4)
    run = compiled(model)
    with pytest.warns(EagerWarning, match="its parameters want gradients"):
        run(x).sum().backward()
    assert model.bias.grad.tolist() == [1, 1]
    silent(run, x)


@pytest.mark.filterwarnings("ignore:computed in float32")
def test_a_parameter_whose_memory_is_another_is_seen() -> None:
    model, x = torch.nn.Linear(4, 2), torch.randn(1, 4)
    run = compiled(model)
    silent(run, x)
    model.weight.data = torch.randn(2, 4)
    torch.testing.assert_close(silent(run, x), model(x), atol=1e-5, rtol=1e-5)


@pytest.mark.filterwarnings("ignore:computed in float32")
def test_a_call_at_fault_does_not_end_what_is_compiled() -> None:
    table = torch.randn(3, 4)
    run = compiled(lambda i: table[i] * 2)
    silent(run, torch.tensor([0, 2]))
    with pytest.raises(IndexError, match="out of bounds"):
        silent(run, torch.tensor([0, 3]))
    with mock.patch.object(Library, "run", side_effect=Library.run, autospec=True) as ran:
        assert torch.equal(silent(run, torch.tensor([0, 2])), table[[0, 2]] * 2)
    assert ran.call_count == 1


@pytest.mark.filterwarnings("ignore")
def test_threads_share_a_compiled_model() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
    torch._dynamo.reset()
    run = torch.compile(model, backend=backend, dynamic=True, options={"num_threads": 1})

    def work(step: int) -> None:
        with torch.no_grad():
            for number in range(20):
                x = torch.randn(number * step % 7 + 1, 4)
                torch.testing.assert_close(run(x), model(x), atol=1e-5, rtol=1e-5)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(work, (1, 5)))
