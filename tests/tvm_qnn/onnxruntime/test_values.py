"""``OrtValue`` and ``IOBinding``, beside ONNX Runtime's."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from qnn_ops.errors import QnnError
from tests.support.onnx_sessions import both, check_same, check_same_error, onnx, sums
from tvm_qnn import onnxruntime as own

CPU = ("cpu", 0)


def x() -> Any:
    return np.arange(6, dtype=np.float32).reshape(2, 3)


def y() -> Any:
    return np.ones((1, 3), np.float32)


@pytest.mark.parametrize(
    "array",
    [x(), x().T, x()[:, ::-1], np.array(3, np.float32), x()[:0], x().astype(np.int8), x() > 1],
    ids=["rows", "columns", "gaps", "one number", "none", "int8", "bool"],
)
def test_a_value_tells_of_its_array(array: Any) -> None:
    def work(ort: Any) -> Any:
        value = ort.OrtValue.ortvalue_from_numpy(array)
        return (
            [value.shape(), value.data_type(), value.element_type(), value.device_name()],
            [value.tensor_size_in_bytes(), value.has_value(), value.is_tensor()],
            [value.is_sparse_tensor(), value.is_tensor_sequence(), value.__dlpack_device__()],
            [value.numpy(), np.asarray(value), np.array(value), np.asarray(value, np.float64)],
            np.shares_memory(value.numpy(), array),
            array.size == 0 or value.data_ptr() == array.ctypes.data,
        )

    check_same(work)


@pytest.mark.parametrize("kind", [np.float32, np.dtype("int64"), "uint8", np.bool_, 1, 7, 10])
def test_a_value_of_its_own_memory(kind: Any) -> None:
    def work(ort: Any) -> Any:
        value = ort.OrtValue.ortvalue_from_shape_and_type([2, 3], kind)
        value.numpy()[:] = 1
        return value.shape(), value.data_type(), value.numpy()

    check_same(work)


def updated(other: Any, ort: Any) -> Any:
    return ort.OrtValue.ortvalue_from_numpy(x()).update_inplace(other)


def test_a_value_is_changed_in_place() -> None:
    def work(ort: Any) -> Any:
        array = x()
        value = ort.OrtValue.ortvalue_from_numpy(array)
        value.update_inplace(array.T.reshape(2, 3) * 2)
        value.update_inplace(ort.OrtValue.ortvalue_from_numpy(value.numpy() + 1))
        shared = [ort.OrtValue.from_dlpack(each) for each in (array, value, array.__dlpack__())]
        array[0, 0] = 70
        return value.numpy(), [each.numpy() for each in shared], np.from_dlpack(value)

    check_same(work)
    for other in (np.ones((2, 2), np.float32), [1]):
        check_same_error(partial(updated, other))
    with pytest.raises(QnnError, match="float32, got float64"):  # ONNX Runtime copies the bytes
        own.OrtValue.ortvalue_from_numpy(x()).update_inplace(x().astype(np.float64))


@pytest.mark.parametrize(
    "arguments",
    [([1, 2],), (np.array(["a"]),), (x(), "cuda", 0), (np.ones(1, np.complex64),)],
    ids=["list", "text", "device", "complex"],
)
def test_no_value_is_made_of_anything_else(arguments: Any) -> None:
    check_same_error(lambda ort: ort.OrtValue.ortvalue_from_numpy(*arguments), text=False)


@pytest.mark.parametrize(
    "arguments", [([-1], np.float32), ([1], np.float32, "cuda"), ([1], np.complex64)], ids=str
)
def test_no_memory_is_given_for_anything_else(arguments: Any) -> None:
    check_same_error(lambda ort: ort.OrtValue.ortvalue_from_shape_and_type(*arguments), text=False)


def test_bytes_are_read_as_another_type() -> None:
    def work(ort: Any) -> Any:
        value = ort.OrtValue.ortvalue_from_numpy_with_onnx_type(x(), onnx.TensorProto.INT32)
        return value.data_type(), value.element_type(), value.shape(), value.numpy()

    check_same(work)
    with pytest.raises(QnnError, match="float32 cannot be read as those of int64"):
        own.OrtValue.ortvalue_from_numpy_with_onnx_type(x(), onnx.TensorProto.INT64)


def test_runs_take_and_give_values() -> None:
    def run(names: Any, *given: Any) -> Callable[[Any], Any]:
        def work(ort: Any) -> Any:
            values = [ort.OrtValue.ortvalue_from_numpy(each) for each in given]
            session = ort.InferenceSession(sums())
            feed = dict(zip(("x", "y"), values, strict=False))
            found = session.run_with_ort_values(names, feed)
            assert all(isinstance(each, ort.OrtValue) for each in found)
            return [each.numpy() for each in found], session.run(names, feed)

        return work

    check_same(run(["z"], x(), y()))
    check_same(run(None, x(), y()))
    check_same_error(run(None, x()))
    check_same_error(run(["q"], x(), y()))
    check_same_error(run(None, x().astype(np.float64), y()))
    check_same_error(run(None, x()[0], y()))
    check_same_error(
        lambda ort: ort.InferenceSession(sums()).run_with_ort_values(None, {"x": x(), "y": y()}),
        text=False,
    )


def bound(ort: Any, **arrays: Any) -> Any:
    session = ort.InferenceSession(sums())
    binding = session.io_binding()
    for name, array in arrays.items():
        binding.bind_cpu_input(name, array)
    return session, binding


def test_a_binding_runs_on_what_its_arrays_hold() -> None:
    def work(ort: Any) -> Any:
        data = x()
        session, binding = bound(ort, x=data, y=y())
        found = [binding.get_outputs(), binding.copy_outputs_to_cpu()]
        binding.bind_output("w")
        binding.bind_output("z", "cpu")
        for number in range(3):
            data[:] = number - 1
            binding.synchronize_inputs()
            session.run_with_iobinding(binding)
            binding.synchronize_outputs()
            found.append(binding.copy_outputs_to_cpu())
            found.append([each.numpy().copy() for each in binding.get_outputs()])
        binding.clear_binding_outputs()
        return found, binding.get_outputs(), binding.copy_outputs_to_cpu()

    check_same(work)


def test_a_binding_writes_where_it_is_told() -> None:
    def work(ort: Any) -> Any:
        session, binding = bound(ort)
        data, place = x(), np.zeros((2, 3), np.float32)
        value = ort.OrtValue.ortvalue_from_shape_and_type((2, 3), np.float32)
        binding.bind_input("x", *CPU, np.float32, data.shape, data.ctypes.data)
        binding.bind_ortvalue_input("y", ort.OrtValue.ortvalue_from_numpy(y()))
        binding.bind_output("z", *CPU, np.float32, place.shape, place.ctypes.data)
        binding.bind_ortvalue_output("w", value)
        session.run_with_iobinding(binding)
        outputs = binding.get_outputs()
        same = [outputs[0].data_ptr() == place.ctypes.data]
        same.append(outputs[1].data_ptr() == value.data_ptr())
        binding.bind_input("x", *CPU, onnx.TensorProto.FLOAT, [2, 3], place.ctypes.data)
        kept = binding.copy_outputs_to_cpu()
        session.run_with_iobinding(binding)
        return same, kept, place, value.numpy()

    check_same(work)


def binding_of(change: Callable[[Any, Any], Any]) -> Callable[[Any], Any]:
    """Return what runs with a binding after a change of it."""

    def work(ort: Any) -> Any:
        session, binding = bound(ort, x=x(), y=y())
        binding.bind_output("z")
        change(ort, binding)
        session.run_with_iobinding(binding)
        return binding.copy_outputs_to_cpu()

    return work


@pytest.mark.parametrize(
    "change",
    [
        lambda _, binding: binding.clear_binding_outputs(),
        lambda _, binding: binding.bind_cpu_input("q", x()),
        lambda _, binding: binding.bind_cpu_input("x", [1]),
        lambda _, binding: binding.bind_cpu_input("x", x().astype(np.float64)),
        lambda _, binding: binding.bind_cpu_input("x", x()[:, :2].copy()),
        lambda _, binding: binding.bind_cpu_input("x", x()[0]),
        lambda _, binding: binding.bind_output("q"),
        lambda _, binding: binding.bind_output("z", *CPU, None, None, 64),
        lambda ort, binding: binding.bind_ortvalue_output(
            "z", ort.OrtValue.ortvalue_from_shape_and_type((2, 3), np.float64)
        ),
    ],
)
def test_a_binding_that_does_not_fit_is_told_in_the_same_words(change: Any) -> None:
    check_same_error(binding_of(change))


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda _, binding: binding.clear_binding_inputs(), "Missing Input: x"),
        (
            lambda ort, binding: binding.bind_ortvalue_output(
                "z", ort.OrtValue.ortvalue_from_shape_and_type((4, 3), np.float32)
            ),
            "has shape {4,3} but the computed output shape for this run is {2,3}",
        ),
        (lambda _, binding: binding.bind_ortvalue_input("x", x()), ""),
        (lambda _, binding: binding.bind_ortvalue_output("z", x()), ""),
    ],
)
def test_a_binding_that_does_not_fit_raises_the_same_class(change: Any, told: str) -> None:
    # ONNX Runtime's texts have lines of its sources.
    ours, theirs = both(binding_of(change))
    check_same_error(binding_of(change), text=False)
    assert told in str(ours.error)
    assert told.replace("'", "") in str(theirs.error).replace("'", "")


def test_only_bindings_are_run_and_gaps_bound_as_they_were() -> None:
    check_same_error(lambda ort: ort.InferenceSession(sums()).run_with_iobinding(3), text=False)
    with pytest.raises(QnnError, match="'cuda'"):
        own.InferenceSession(sums()).io_binding().bind_output("z", "cuda")
    check_same(binding_of(lambda _, binding: binding.bind_cpu_input("x", x()[:, ::-1])))


NAMES = ("allocator_type", "device_id", "device_mem_type", "device_vendor_id", "mem_type", "name")


def test_memory_is_this_processs() -> None:
    def work(ort: Any) -> Any:
        session = ort.InferenceSession(sums())
        cpu = ort.OrtMemoryInfo(
            "Cpu", ort.OrtAllocatorType.ORT_ARENA_ALLOCATOR, 0, ort.OrtMemType.DEFAULT
        )
        return [
            [getattr(value := getattr(info, name), "name", value) for name in NAMES]
            for info in (*session.get_input_memory_infos(), *session.get_output_memory_infos(), cpu)
        ]

    check_same(work)
    check_same_error(
        lambda ort: ort.OrtMemoryInfo("Gpu", ort.OrtAllocatorType.INVALID, 0, ort.OrtMemType.CPU)
    )
