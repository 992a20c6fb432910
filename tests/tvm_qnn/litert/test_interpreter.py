"""The interpreter's calls, each beside LiteRT's own."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ai_edge_litert import interpreter as litert

from qnn_ops import QnnError
from tests.support.errors import fails
from tests.support.processes import printed
from tests.support.tflite import one, x
from tests.tvm_qnn.litert.models import addition, chain, counter, filters, two_inputs
from tests.tvm_qnn.litert.programs import made
from tvm_qnn import litert as package
from tvm_qnn.library.known import library_of
from tvm_qnn.litert import interpreter as ours

BOTH = pytest.mark.parametrize("module", [litert, ours], ids=["litert", "tvm_qnn"])
BYTES = np.array([[0, 3, 100, 255]], np.uint8)
ONES = np.ones((1, 4), np.float32)


def ready(module: Any, content: bytes, **options: Any) -> Any:
    interpreter = made(module, content, **options)
    interpreter.allocate_tensors()
    return interpreter


def run(interpreter: Any, *values: np.ndarray) -> list[np.ndarray]:
    for detail, value in zip(interpreter.get_input_details(), values, strict=True):
        interpreter.set_tensor(detail["index"], value)
    interpreter.invoke()
    return [interpreter.get_tensor(each["index"]) for each in interpreter.get_output_details()]


def same_errors(call: Callable[[Any], object], text: str = "") -> None:
    """Check that both raise, of one built-in class, and ours with LiteRT's text if none is given.

    LiteRT's texts after the first one begin with those before.
    """
    with pytest.raises((ValueError, RuntimeError, TypeError)) as expected:
        call(litert)
    with pytest.raises(QnnError) as found:
        call(ours)
    assert isinstance(found.value, expected.type)
    if text:
        assert str(found.value).startswith(text)
    else:
        assert str(found.value) == str(expected.value)


@BOTH
def test_a_path_is_taken_as_text_and_as_an_object(module: Any, tmp_path: Path) -> None:
    path = tmp_path / "chain.tflite"
    path.write_bytes(chain())
    for given in (path, str(path)):
        assert module.Interpreter(given).get_input_details()[0]["name"] == "x"
        assert module.Interpreter(model_path=given, num_threads=2)


@pytest.mark.parametrize(
    "call",
    [
        lambda module: module.Interpreter(),
        lambda module: module.Interpreter("a.tflite", model_content=b"x"),
        lambda module: module.Interpreter(model_content=b""),
        lambda module: module.Interpreter(model_content=b"x" * 100),
        lambda module: module.Interpreter(5),
        lambda module: module.Interpreter(model_content=chain(), num_threads=0),
        lambda module: module.Interpreter(model_content=chain(), num_threads="2"),
        lambda module: module.Interpreter(model_content=chain(), unknown=1),
        lambda module: module.Interpreter(
            model_content=chain(), experimental_op_resolver_type="BUILTIN"
        ),
        lambda module: module.Interpreter(
            model_content=chain(), experimental_op_resolver_type=None
        ),
        lambda module: made(module, chain()).invoke(),
        lambda module: made(module, chain()).set_tensor(0, BYTES),
        lambda module: made(module, chain()).get_tensor(0),
        lambda module: made(module, chain()).get_tensor(2),
        lambda module: made(module, chain()).tensor(0)(),
        lambda module: made(module, chain()).tensor(5)(),
        lambda module: made(module, chain()).get_tensor_details(1),
        lambda module: made(module, chain()).resize_tensor_input(0, 4),
        lambda module: made(module, chain()).resize_tensor_input(0, [[1, 4]]),
        lambda module: made(module, addition()).resize_tensor_input(2, [2, 4]),
        lambda module: made(module, addition()).resize_tensor_input(0, [2, 4], strict=True),
        lambda module: made(module, chain()).get_signature_runner(),
        lambda module: made(module, chain()).get_signature_runner("x"),
        lambda module: ready(module, chain()).get_tensor(3),
        lambda module: ready(module, chain()).get_tensor(-1),
        lambda module: ready(module, chain()).get_tensor(0, 1),
        lambda module: ready(module, chain()).set_tensor(9, BYTES),
        lambda module: ready(module, chain()).set_tensor(0, BYTES[:, :3]),
        lambda module: ready(module, chain()).set_tensor(0, BYTES[0]),
        lambda module: ready(module, chain()).set_tensor(0, BYTES[None]),
        lambda module: ready(module, chain()).set_tensor(0, [[1, 2, 3, 4]]),
    ],
)
def test_errors_are_litert_s(call: Callable[[Any], object]) -> None:
    same_errors(call)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda module: module.Interpreter("no.tflite"), "Could not open 'no.tflite'."),
        (lambda module: module.Interpreter(model_content="x"), "model_content: needs bytes"),
        (lambda module: ready(module, chain()).set_tensor("x", BYTES), "a tensor's index is an"),
        (lambda module: ready(module, chain()).get_tensor(0.0), "a tensor's index is an"),
        (lambda module: made(module, chain()).resize_tensor_input(9, [1]), "Invalid tensor index"),
        (lambda module: made(module, chain()).resize_tensor_input(0, [-1, 4]), "tensor 0 'x' can"),
        (
            lambda module: made(module, chain()).resize_tensor_input(0, [1], strict=True),
            "tensor 0 has 2 dimensions",
        ),
    ],
)
def test_errors_of_litert_s_classes(call: Callable[[Any], object], text: str) -> None:
    same_errors(call, text)


@pytest.mark.parametrize(
    "dtype",
    [
        *("float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint16", "uint32"),
        *("uint64", "bool", "complex64", "complex128", "S3", "U3", "O"),
    ],
)
def test_a_value_of_another_type(dtype: str) -> None:
    same_errors(lambda module: ready(module, chain()).set_tensor(0, np.zeros((1, 4), dtype)))
    same_errors(lambda module: ready(module, chain()).set_tensor(0, np.zeros((2, 9), dtype)))


def test_what_litert_takes_and_is_refused() -> None:
    for shape in ([0, 4], [1, 1, 4]):
        made(litert, chain()).resize_tensor_input(0, shape)
        with pytest.raises(QnnError, match="it has 2 dimensions, each of at least 1"):
            made(ours, chain()).resize_tensor_input(0, shape)
    fails("tensor 2 'c' is a constant of the file", ready(ours, addition()).set_tensor, 2, ONES)
    assert ours.Interpreter(model_content=chain(), experimental_delegates=[])
    with pytest.raises(QnnError, match=r"experimental_delegates: .* leave the delegate out"):
        ours.Interpreter(model_content=chain(), experimental_delegates=[object()])
    fails("custom_op_registerers", ours.InterpreterWithCustomOps, ["f"], model_content=chain())
    assert ours.InterpreterWithCustomOps(model_content=chain()).num_subgraphs() == 1


@BOTH
def test_names_and_options_are_there(module: Any) -> None:
    for each in module.OpResolverType:
        interpreter = module.Interpreter(
            model_content=chain(),
            experimental_op_resolver_type=each,
            experimental_disable_delegate_clustering=True,
            experimental_default_delegate_latest_features=False,
            experimental_compress_quantization_zero_points=True,
            experimental_disable_delegate_node_fusion=True,
            experimental_force_delegate_node_profiling=False,
        )
        assert interpreter.experimental_compress_quantization_zero_points
    assert [(each.name, each.value) for each in module.OpResolverType] == [
        *(("AUTO", 0), ("BUILTIN", 1), ("BUILTIN_REF", 2)),
        ("BUILTIN_WITHOUT_DEFAULT_DELEGATES", 3),
    ]


def test_imports_as_the_packages_spell_them_need_no_litert() -> None:
    for name in ours.__all__:
        assert getattr(package, name) is getattr(ours, name)
        assert hasattr(litert, name)
    assert package.experimental.OpResolverType is ours.OpResolverType
    printed(
        "import sys; import tvm_qnn; assert 'tvm_qnn.litert' not in sys.modules; "
        "import tvm_qnn.litert.interpreter; assert 'ai_edge_litert' not in sys.modules"
    )


@BOTH
def test_lists_views_and_numbers_of_numpy_are_values(module: Any) -> None:
    interpreter = ready(module, addition())
    interpreter.set_tensor(np.int64(0), np.arange(8, dtype=np.float32).reshape(4, 2)[:, :1].T)
    interpreter.invoke()
    np.testing.assert_array_equal(interpreter.get_tensor(np.int32(1)), [[1, 3, 5, 7]])


@BOTH
def test_constants_and_outputs_that_are_inputs_are_there(module: Any) -> None:
    interpreter = made(module, addition())
    np.testing.assert_array_equal(interpreter.get_tensor(2), ONES)
    np.testing.assert_array_equal(interpreter.tensor(2)(), ONES)
    interpreter.allocate_tensors()
    np.testing.assert_array_equal(interpreter.get_tensor(2), ONES)
    found = run(ready(module, two_inputs()), ONES, 2 * ONES)
    assert [each[0, 0] for each in found] == [3, 1, 3]
    assert [each[0, 0] for each in run(ready(module, two_inputs()), 5 * ONES, ONES)] == [6, 5, 6]


@BOTH
def test_a_new_shape_needs_new_memory(module: Any) -> None:
    interpreter = ready(module, chain())
    interpreter.resize_tensor_input(0, [3, 4])
    assert interpreter.get_input_details()[0]["shape"].tolist() == [3, 4]
    assert interpreter.get_output_details()[0]["shape"].tolist() == [1, 4]
    fails("Invoke called on model that is not ready", interpreter.invoke, error=RuntimeError)
    with pytest.raises(
        ValueError, match=r"Tensor is unallocated. Try calling allocate_tensors\(\)"
    ):
        interpreter.set_tensor(0, np.zeros((3, 4), np.uint8))
    fails(r"Run allocate_tensors\(\) first", interpreter.get_tensor, 0, error=ValueError)
    interpreter.allocate_tensors()
    assert interpreter.get_output_details()[0]["shape"].tolist() == [3, 4]
    (found,) = run(interpreter, np.repeat(BYTES, 3, 0))
    np.testing.assert_array_equal(found, np.repeat(run(ready(litert, chain()), BYTES)[0], 3, 0))
    interpreter.resize_tensor_input(0, (3, 4))  # nothing new
    interpreter.invoke()
    interpreter = ready(module, addition())
    interpreter.resize_tensor_input(0, [1, 3])
    with pytest.raises(RuntimeError):
        interpreter.allocate_tensors()
    fails("not ready", interpreter.invoke, error=RuntimeError)
    interpreter.resize_tensor_input(0, [1, 4])
    interpreter.allocate_tensors()
    assert run(interpreter, ONES)[0].tolist() == [[2, 2, 2, 2]]


def test_some_shapes_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    built = []

    def counted(*arguments: Any) -> Any:
        built.append(1)
        return library_of(*arguments)

    monkeypatch.setattr("tvm_qnn.litert.graph.library_of", counted)
    monkeypatch.setattr("tvm_qnn.library.last.MOST", 2)
    interpreter = made(ours, chain())
    for rows in (1, 2, 1, 2, 3, 2, 1):  # the first two again and again; the third replaces one
        interpreter.resize_tensor_input(0, [rows, 4])
        interpreter.allocate_tensors()
        run(interpreter, np.repeat(BYTES, rows, 0))
    assert len(built) == 4


@BOTH
def test_the_memory_of_inputs_and_outputs(module: Any) -> None:
    interpreter = ready(module, chain())
    taken, given = interpreter.tensor(0), interpreter.tensor(2)
    taken()[...] = BYTES
    interpreter.invoke()
    expected = run(ready(litert, chain()), BYTES)[0]
    np.testing.assert_array_equal(given(), expected)
    assert np.shares_memory(taken(), taken())
    given()[...] = 7
    assert interpreter.get_tensor(2).tolist() == [[7, 7, 7, 7]]
    interpreter = ready(module, chain())
    (found,) = run(interpreter, BYTES)
    np.testing.assert_array_equal(found, run(ready(litert, chain()), BYTES)[0])
    found[...] = 0  # a copy
    assert interpreter.get_tensor(2).any()
    np.testing.assert_array_equal(interpreter.get_tensor(0), BYTES)


def test_memory_may_be_held_and_is_used_by_threads() -> None:
    interpreter = ready(ours, chain())
    taken, given = interpreter.tensor(0)(), interpreter.tensor(2)()
    for value in (BYTES, BYTES[:, ::-1]):
        taken[...] = value
        interpreter.invoke()
        np.testing.assert_array_equal(given, run(ready(litert, chain()), value)[0])
    interpreter = ours.Interpreter(model_content=chain(), num_threads=2)
    interpreter.allocate_tensors()
    assert interpreter._main._now is not None
    assert interpreter._main._now.library.num_threads == 2
    many = ours.Interpreter(model_content=chain(), num_threads=5000)
    assert many.get_input_details()  # as LiteRT, which takes any number


@BOTH
def test_tensors_between_operators(module: Any) -> None:
    interpreter = ready(module, chain(), experimental_preserve_all_tensors=True)
    run(interpreter, BYTES)
    np.testing.assert_array_equal(interpreter.get_tensor(1), np.maximum(BYTES, 3))


def test_tensors_between_operators_are_not_kept_unless_asked_for() -> None:
    interpreter = ready(ours, chain())
    run(interpreter, BYTES)
    fails(r"tensor 1 'h' .* experimental_preserve_all_tensors=True", interpreter.get_tensor, 1)
    fails("experimental_preserve_all_tensors", interpreter.tensor(1))


@BOTH
def test_a_variable_is_kept_and_reset_unless_it_has_a_name(module: Any) -> None:
    interpreter = ready(module, filters())
    told = [run(interpreter, ONES)[0][0, 0] for _ in range(2)]
    state = interpreter.get_tensor(3)
    assert state.shape == (1, 12)
    interpreter.allocate_tensors()  # nothing new
    told.append(run(interpreter, ONES)[0][0, 0])
    interpreter.reset_all_variables()
    told += [run(interpreter, ONES)[0][0, 0] for _ in range(2)]
    interpreter.set_tensor(3, np.zeros((1, 12), np.float32))
    told.append(run(interpreter, ONES)[0][0, 0])
    assert told == [4, 8, 12, 4, 8, 4]
    assert state.tolist() == [[0, 4, 4] * 4]
    interpreter = ready(module, counter())
    told = [run(interpreter, ONES)[0][0, 0] for _ in range(2)]
    interpreter.reset_all_variables()
    interpreter.allocate_tensors()
    assert [*told, run(interpreter, ONES)[0][0, 0]] == [11, 12, 13]


def test_a_variable_tensor_is_reset_where_memory_is_new() -> None:
    for module in (litert, ours):
        interpreter = ready(module, filters())
        run(interpreter, ONES)
        interpreter.resize_tensor_input(0, [2, 4])
        with pytest.raises(RuntimeError):
            interpreter.allocate_tensors()
        interpreter.resize_tensor_input(0, [1, 4])
        interpreter.allocate_tensors()
        assert run(interpreter, ONES)[0][0, 0] == 4


def test_operators_that_are_not_supported() -> None:
    content = one("CUSTOM:Unknown", x(1, 4, dtype="float32")).model()
    same_errors(lambda module: ready(module, content), "1 operator cannot be imported:")


def test_a_call_costs_little() -> None:
    interpreter = ready(ours, chain())
    now = interpreter._main._now
    assert now is not None

    def call() -> None:
        interpreter.set_tensor(0, BYTES)
        interpreter.invoke()
        interpreter.get_tensor(2)

    def seconds(function: Callable[[], object]) -> float:
        start = time.perf_counter()
        for _ in range(200):
            function()
        return (time.perf_counter() - start) / 200

    # In turn, so that a busy machine slows both; the least of many.
    pairs = [(seconds(call), seconds(lambda: now.library.run(BYTES))) for _ in range(20)]
    added = min(each for each, _ in pairs) - min(each for _, each in pairs)
    assert added < 20e-6
