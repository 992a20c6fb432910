from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tvm
from tvm import relax

import tvm_qnn
from qnn_ops.dialect.signature import Signature, TensorInfo, with_signature
from qnn_ops.errors import QnnError
from tests.support.errors import fails
from tests.support.modules import adder, module
from tvm_qnn.library.library import Library

X = np.arange(6, dtype=np.int8).reshape(2, 3)
W = np.full((2, 3), 10, np.int8)


def test_inputs_go_by_position_or_name_or_both(library: Library) -> None:
    runs = [library.run(X, W), library.run(w=W, x=X), library.run(X, w=W)]
    for result in (*runs, library.run({"w": W, "x": X})):
        assert isinstance(result, np.ndarray)
        assert result.dtype == np.int8
        np.testing.assert_array_equal(result, X + W)


def aligned(shape: tuple[int, ...], dtype: str) -> Any:
    """Return an array whose memory TVM's code takes as it is."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    memory = np.zeros(size + 64, np.uint8)
    start = -memory.ctypes.data % 64
    return memory[start : start + size].view(dtype).reshape(shape)


@pytest.mark.parametrize("make", [np.zeros, aligned])
def test_outputs_go_into_arrays_that_are_given(library: Library, make: Any) -> None:
    for _ in range(2):
        target = make((2, 3), "int8")
        assert library.run(X, W, out={"output0": target}) is target
        assert target.tolist() == (X + W).tolist()
    strided = np.zeros((2, 6), "int8")[:, ::2]
    library.run({"x": X, "w": W}, out={"output0": strided})
    assert strided.tolist() == (X + W).tolist()
    same = make((2, 3), "int8")
    same[...] = X
    library.run(same, W, out={"output0": same})
    assert same.tolist() == (X + W).tolist()
    assert library.run(X, W) is not same


def test_the_machine_takes_arrays_that_are_aligned_as_they_are(library: Library) -> None:
    x, w, target = (aligned((2, 3), "int8") for _ in range(3))
    x[...], w[...] = X, W
    library.run(x, w)
    (runner,) = library._ready()._idle
    called: set[int] = set()
    kernel = runner._kernel
    assert kernel is not None

    def watch(*tensors: Any) -> None:
        called.update(np.from_dlpack(tensor).ctypes.data for tensor in tensors)
        kernel(*tensors)

    runner._kernel = watch
    library.run(x, w, out={"output0": target})
    runner._kernel = kernel
    assert called >= {array.ctypes.data for array in (x, w, target)}


@pytest.mark.parametrize(
    ("out", "message"),
    [
        ({"y": X}, r"out: no output is named 'y'; there are output0"),
        ({"output0": X[0]}, r"out: output 'output0' gives int8 of shape \(2, 3\), got int8 of"),
        ({"output0": X.astype("int16")}, r"gives int8 of shape \(2, 3\), got int16 of shape"),
        ({"output0": [[1]]}, r"gives int8 of shape \(2, 3\), got an object of type list"),
        ({"output0": np.broadcast_to(X[0], (2, 3))}, r"output 'output0' cannot be written to"),
        (X, r"no input is named 'out'; there are x, w"),
    ],
)
def test_outputs_that_do_not_fit_are_errors(library: Library, out: Any, message: str) -> None:
    fails(message, library.run, X, W, out=out)


def test_a_call_is_a_run(quantized: Library) -> None:
    x, n = np.array([0.5, 0, 0, 0], np.float32), np.zeros(4, np.int32)
    assert quantized(x, n=n, quantize_inputs=True)["sum"].tolist() == [22, 20, 20, 20]


def test_it_shows_its_target_and_tensors(quantized: Library) -> None:
    processor = quantized.metadata.processor
    assert repr(quantized).splitlines() == [
        f"tvm_qnn.Library for {processor}",
        "  input x  int8  4  scale 0.5, zero point 10",
        "  input n  int32  4",
        "  output sum  int8  4  scale 0.25, zero point -1",
        "  output n  int32  4",
    ]
    html = quantized._repr_html_()
    assert f"<caption>tvm_qnn.Library for {processor}</caption>" in html
    cells = "<td>input</td><td>x</td><td>int8</td><td>(4,)</td><td>0.5</td><td>10</td>"
    assert f"<tr>{cells}</tr>" in html


def test_inputs_may_lie_anywhere(library: Library) -> None:
    transposed = np.ascontiguousarray(X.T).T
    assert not transposed.flags.c_contiguous
    np.testing.assert_array_equal(library.run(transposed, W), X + W)
    constant = X.copy()
    constant.flags.writeable = False
    for shift in range(3):
        memory = np.zeros(6 + shift, np.int8)
        moved = memory[shift:].reshape(2, 3)
        moved[...] = 7
        np.testing.assert_array_equal(library.run(constant, moved), X + 7)


def test_results_are_the_callers_own(library: Library) -> None:
    first = library.run(X, W)
    library.run(W, W)
    np.testing.assert_array_equal(first, X + W)
    mod = module({"x": relax.TensorType((2, 3), "int8")}, lambda x: [relax.op.reshape(x, (6,)), x])
    library = tvm_qnn.build(mod, "host")
    x = X.copy()
    for array in library.run(x).values():
        array[...] = 99
    np.testing.assert_array_equal(x, X)


def test_several_outputs_are_a_dict_in_order(two_outputs: Library) -> None:
    result = two_outputs.run(np.array([1, 2, 3, 4], np.int8))
    assert {name: array.tolist() for name, array in result.items()} == {
        "sum": [2, 4, 6, 8],
        "square": [[1, 2], [3, 4]],
    }
    assert list(result) == ["sum", "square"]
    target = np.zeros((2, 2), np.int8)
    found = two_outputs.run(np.arange(4, dtype=np.int8), out={"square": target})
    assert found["square"] is target
    assert [each.tolist() for each in found.values()] == [[0, 2, 4, 6], [[0, 1], [2, 3]]]


def test_one_output_scalars_and_any_name() -> None:
    mod = module({"x": relax.TensorType((2,), "int8")}, lambda x: [relax.op.add(x, x)])
    assert tvm_qnn.build(mod, "host").run(np.array([1, 2], np.int8)).tolist() == [2, 4]
    ty = relax.TensorType((), "int8")
    library = tvm_qnn.build(module({"x": ty, "w": ty}, relax.op.add), "host", {"w": np.int8(3)})
    result = library.run(np.array(4, np.int8))
    assert (result.shape, result.tolist()) == ((), 7)
    ty = relax.TensorType((2,), "int8")
    library = tvm_qnn.build(module({"self": ty, "input:0": ty}, relax.op.add), "host")
    ones = np.ones(2, np.int8)
    named: dict[str, Any] = {"self": ones, "input:0": ones}
    assert library.run(**named).tolist() == [2, 2]


@pytest.mark.parametrize(
    ("arrays", "named", "message"),
    [
        ([X], {}, "missing input 'w'"),
        ([], {}, "missing input 'x', 'w'"),
        ([X, W, W], {}, "the model has 2 inputs, got 3 arrays"),
        ([X], {"v": W}, "no input is named 'v'; there are x, w"),
        ([X, W], {"x": X}, "input 'x' is given twice"),
        ([X, W[:1]], {}, r"input 'w' takes int8 of shape \(2, 3\), got int8 of shape \(1, 3\)"),
        ([X.astype(np.uint8), W], {}, r"input 'x' takes int8 .* got uint8"),
        ([X, 3], {}, r"input 'w' takes int8 .* got int64 of shape \(\)"),
        ([X, "w"], {}, r"input 'w' takes int8 "),
    ],
)
def test_inputs_that_do_not_fit_are_errors(
    library: Library, arrays: list[Any], named: dict[str, Any], message: str
) -> None:
    for call in (library.run, library.prepare, library.benchmark):
        if call == library.benchmark and not arrays:
            continue  # no inputs at all mean zeros
        fails(message, call, *arrays, **named)


def test_a_library_for_another_machine_says_so_instead_of_running() -> None:
    here = tvm.target.codegen.llvm_get_system_triple()
    other = "aarch64-linux-gnu" if "x86_64" in here else "x86_64-linux-gnu"
    library = tvm_qnn.build(adder(), f"llvm -mtriple={other}")
    fails(f"cannot run here: it is for {other}", library.run, X, W)


@pytest.fixture(scope="module")
def quantized() -> Library:
    """x + x of an int8 x in steps of 0.5, and x itself; then plain int32."""
    mod = module(
        {"x": relax.TensorType((4,), "int8"), "n": relax.TensorType((4,), "int32")},
        lambda x, n: [relax.op.add(x, x), relax.op.add(n, n)],
    )
    x = TensorInfo("x", (4,), "int8", 0.5, 10)
    infos = (TensorInfo("sum", (4,), "int8", 0.25, -1), TensorInfo("n", (4,), "int32"))
    inputs = (x, TensorInfo("n", (4,), "int32"))
    mod["main"] = with_signature(mod["main"], Signature(inputs, infos))
    return tvm_qnn.build(mod, "host")


def test_reals_are_quantized_and_results_dequantized_on_request(quantized: Library) -> None:
    reals, counts = np.array([-1.25, 0.25, 1e9, -5]), np.arange(4, dtype=np.int32)
    # In steps of 0.5, ties away from zero: -3, 1, saturated, -10; and 10 more.
    result = quantized.run(reals.astype(np.float32), counts, quantize_inputs=True)
    assert result["sum"].tolist() == [14, 22, -2, 0]  # int8 wraps 254 to -2
    assert result["n"].dtype == np.int32
    reals64 = quantized.run(reals, counts, quantize_inputs=True, dequantize_outputs=True)
    assert reals64["sum"].dtype == np.float32
    assert reals64["sum"].tolist() == [3.75, 5.75, -0.25, 0.25]
    assert reals64["n"].tolist() == [0, 2, 4, 6]
    # Integers stay the same.
    whole = quantized.run(np.ones(4, np.int8), counts, quantize_inputs=True)
    assert whole["sum"].tolist() == [2, 2, 2, 2]
    inputs = np.arange(4, dtype=np.int8), np.arange(4, dtype=np.int32)
    target = aligned((4,), "float32")
    expected = quantized.run(*inputs, dequantize_outputs=True)["sum"]
    found = quantized.run(*inputs, dequantize_outputs=True, out={"sum": target})
    assert found["sum"] is target
    np.testing.assert_array_equal(target, expected)
    reals, counts = np.zeros(4, np.float32), np.zeros(4, np.int32)
    fails(r"input 'x' takes int8 .* got float32", quantized.run, reals, counts)
    with pytest.raises(QnnError, match=r"input 'n' takes int32 .* got float32"):
        quantized.run(reals, counts.astype(np.float32), quantize_inputs=True)
    with pytest.raises(QnnError, match="input 'x': values must be numbers to be quantized"):
        quantized.run(np.full(4, np.nan), counts, quantize_inputs=True)
    with pytest.raises(QnnError, match=r"input 'x' takes int8 of shape \(4,\), got int8 of .*\(3,"):
        quantized.run(reals[:3], counts, quantize_inputs=True)


def test_outputs_of_one_name_do_not_collapse() -> None:
    mod = module({"x": relax.TensorType((2,), "int8")}, lambda x: [relax.op.add(x, x), x, x])
    infos = [TensorInfo(name, (2,), "int8") for name in ("y", "y", "y_2")]
    signature = Signature((TensorInfo("x", (2,), "int8"),), tuple(infos))
    mod["main"] = with_signature(mod["main"], signature)
    library = tvm_qnn.build(mod, "host")
    result = library.run(np.array([1, 2], np.int8))
    assert [info.name for info in library.outputs] == list(result) == ["y", "y_3", "y_2"]
    assert [array.tolist() for array in result.values()] == [[2, 4], [1, 2], [1, 2]]


def test_a_closed_library_says_so(tmp_path: Path) -> None:
    with tvm_qnn.build(adder(), "host") as library:
        run = library.prepare(X, W)
        assert library.run(X, W).tolist() == (X + W).tolist()
    for use in (lambda: library.run(X, W), lambda: library.export(tmp_path / "adder.so")):
        fails("this library was closed", use)
    run()  # the prepared run continues
    library.close()


# Timing


def test_timing_has_one_figure_for_each_run(library: Library) -> None:
    timing = library.benchmark(repeat=5, warmup=1)
    assert len(timing.seconds) == 5
    assert 0 < timing.minimum <= timing.median <= timing.maximum < 1
    assert len(library.benchmark(X, w=W, repeat=1, warmup=0).seconds) == 1
    fails("repeat must be at least 1, got 0", library.benchmark, repeat=0)
