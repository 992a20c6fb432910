"""Models of open sizes against builds for single sizes, bit for bit."""

import functools
import gc
import pickle
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tvm
from tvm import relax, tirx
from tvm.relax import op as R

import qnn_ops as q
import tvm_qnn
from qnn_ops.dialect.signature import with_bounds
from qnn_ops.dialect.tensor_info import OpenSize
from tests.support.encodings import encodings
from tests.support.errors import fails
from tests.support.modules import module
from tvm_qnn.target.codegen import Compiled

RNG = np.random.default_rng(7)
DEPTH = 24
WEIGHTS = RNG.integers(-127, 128, (DEPTH, DEPTH)).astype(np.int8)
BIAS = RNG.integers(-500, 500, DEPTH).astype(np.int32)
KERNEL = RNG.integers(-127, 128, (8, 3, 3, 4)).astype(np.int8)
TAPS = RNG.integers(-127, 128, (3, 3, 8, 1)).astype(np.int8)


def rows(x: relax.Expr) -> Sequence[relax.Expr]:
    """Return what transformers consist of; x is int8 [batch, length, DEPTH]."""
    builder = relax.BlockBuilder.current()
    emit = builder.emit
    weights, bias = relax.const(WEIGHTS), relax.const(BIAS)
    dense = emit(q.quantized_dense(x, weights, 0.02, 3, 0.01, 0, 0.3, -4, "int8", bias=bias))
    batch, length, _ = dense.ty.shape.values
    heads = emit(R.permute_dims(emit(R.reshape(dense, (batch, length, 4, 6))), [0, 2, 1, 3]))
    scores = emit(
        q.quantized_matmul(heads, heads, 0.3, -4, 0.3, -4, 0.9, 1, "int8", transpose_rhs=True)
    )
    shares = emit(q.quantized_softmax(scores, 0.9, 1, 1 / 256, -128, "int8"))
    mixed = emit(q.quantized_matmul(shares, heads, 1 / 256, -128, 0.3, -4, 0.2, 0, "int8"))
    flat = emit(R.reshape(emit(R.permute_dims(mixed, [0, 2, 1, 3])), (batch, length, DEPTH)))
    total = emit(
        q.quantized_add(
            flat, x, **encodings(lhs=(0.2, 0), rhs=(0.02, 3), output=(0.25, 1), out_dtype="int8")
        )
    )
    scaled = emit(q.requantize(total, 0.25, 1, 0.3, -5, "int8"))
    pair = emit(R.concat([scaled, total], axis=1))
    part = emit(R.strided_slice(pair, [2], [3], [11]))
    reals = emit(q.dequantize(total, 0.25, 1))
    normed = emit(
        R.nn.layer_norm(
            reals,
            relax.const(np.ones(DEPTH, "float32")),
            relax.const(np.zeros(DEPTH, "float32")),
            axes=[-1],
        )
    )
    again = emit(q.quantize(emit(R.nn.gelu(normed)), 0.02, -100, "int8"))
    mean = emit(q.quantized_mean(total, 2, False, 0.25, 1, 0.25, 1, "int8"))
    encoding = emit(q.dynamic_encoding(reals, True))
    return [part, again, mean, encoding]


def images(x: relax.Expr) -> Sequence[relax.Expr]:
    """Return what convolutional networks consist of; x is int8 [batch, 9, 7, 4]."""
    emit = relax.BlockBuilder.current().emit
    told = {"kernel": (0.01, 0), "out_dtype": "int8", "data_layout": "NHWC"}
    first = encodings(input=(0.02, 3), output=(0.1, -4), kernel_layout="OHWI", **told)
    conv = emit(q.quantized_conv2d(x, relax.const(KERNEL), padding=(1, 1, 1, 1), **first))
    second = encodings(input=(0.1, -4), output=(0.1, 5), kernel_layout="HWOI", **told)
    second |= {"groups": 8, "strides": (2, 2)}
    deep = emit(q.quantized_conv2d(conv, relax.const(TAPS), **second))
    most = emit(q.quantized_pool2d(deep, "max", (2, 2), layout="NHWC"))
    return [conv, deep, most]


def build(
    body: Callable[..., Any], shape: Sequence[Any], target: str = "host", **options: Any
) -> Any:
    mod = module({"x": relax.TensorType(shape, "int8")}, body)
    return tvm_qnn.build(mod, target, num_threads=1, **options)


def opened(names: Sequence[str], rest: Sequence[int]) -> list[Any]:
    return [*(tirx.Var(name, "int64") for name in names), *rest]


@functools.cache
def open_rows(kernels: bool = True) -> Any:
    return build(rows, opened(("batch", "length"), (DEPTH,)), kernels=kernels)


@functools.cache
def open_images() -> Any:
    return build(images, opened(("batch",), (9, 7, 4)))


def outputs(library: Any, x: np.ndarray) -> list[np.ndarray]:
    return list(library.run(x).values())


@pytest.mark.parametrize("kernels", [True, False])
def test_rows_of_any_number_are_those_of_a_build_for_it(kernels: bool) -> None:
    library, rng = open_rows(kernels), np.random.default_rng(1)
    # Primitives have the same loops for every size.
    for shape in ((1, 1, DEPTH), (1, 13, DEPTH), (5, 38, DEPTH))[0 if kernels else 2 :]:
        x = rng.integers(-128, 128, shape).astype(np.int8)
        fixed = build(rows, shape, kernels=kernels)
        for found, expected in zip(outputs(library, x), outputs(fixed, x), strict=True):
            np.testing.assert_array_equal(found, expected)


def test_a_machine_without_a_linker_computes_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Compiled, "_loaded", lambda _self: (_ for _ in ()).throw(OSError()))
    monkeypatch.setenv("TVM_QNN_CACHE", "0")
    library = build(rows, opened(("batch", "length"), (DEPTH,)))
    x = RNG.integers(-128, 128, (5, 38, DEPTH)).astype(np.int8)
    for found, expected in zip(outputs(library, x), outputs(open_rows(), x), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_batches_of_any_size_are_those_of_a_build_for_it() -> None:
    library = open_images()
    rng = np.random.default_rng(1)
    for batch in (1, 2, 5):
        x = rng.integers(-128, 128, (batch, 9, 7, 4)).astype(np.int8)
        fixed = build(images, x.shape)
        for found, expected in zip(outputs(library, x), outputs(fixed, x), strict=True):
            np.testing.assert_array_equal(found, expected)


def adder(low: int = 1, high: int | None = 5) -> Any:
    """Return a library of x + y, where y has as many rows as x."""
    batch = tirx.Var("batch", "int64")
    ty = relax.TensorType((batch, 3), "int32")
    mod = module({"x": ty, "y": ty}, R.add)
    mod["main"] = with_bounds(mod["main"], {"batch": (low, high)})
    return tvm_qnn.build(mod, "host", num_threads=1)


def ones(rows: int) -> np.ndarray:
    return np.ones((rows, 3), np.int32)


def test_sizes_that_do_not_fit_and_c_code_are_errors(tmp_path: Path) -> None:
    library = adder()
    for inputs, message in [
        ((ones(6), ones(6)), "input 'x', axis 0: batch is 1 to 5, got 6"),
        ((ones(0), ones(0)), "input 'x', axis 0: batch is 1 to 5, got 0"),
        ((ones(2), ones(3)), "input 'y', axis 0: batch is 2 in this run, got 3"),
        ((ones(2)[:, :2], ones(2)), r"input 'x' takes int32 of shape \(batch, 3\), got int32 of"),
    ]:
        fails(message, library.run, *inputs)
    fails("batch is 2 or more, got 1", adder(2, None).run, ones(1), ones(1))
    library = adder()
    message = "C code needs every size as a number: give shape_dict those of batch of input 'x'"
    fails(message, library.export, tmp_path / "m", format="c")


def test_outputs_go_into_arrays_of_the_runs_size() -> None:
    library, target = adder(), np.zeros((4, 3), np.int32)
    assert library.run({"x": ones(4), "y": ones(4)}, out={"output0": target}) is target
    assert (target == 2).all()


def test_files_and_pickles_keep_names_and_bounds(tmp_path: Path) -> None:
    library = adder()
    library.export(tmp_path / "open.so")
    for each in (tvm_qnn.load(tmp_path / "open.so"), pickle.loads(pickle.dumps(library))):
        assert each.inputs == library.inputs
        assert each.inputs[0].describe() == "x  int32  batch×3"
        (batch,) = each.signature.inputs[0].shape[:1]
        assert isinstance(batch, OpenSize)
        assert (batch.low, batch.high) == (1, 5)
        assert (each.run(ones(3), ones(3)) == 2).all()


@pytest.mark.parametrize("kernels", [True, False])
def test_runs_of_any_sizes_take_no_more_memory_in_the_end(kernels: bool) -> None:
    resource = pytest.importorskip("resource")
    library, rng = open_rows(kernels), np.random.default_rng(2)

    def some(count: int) -> int:
        for batch, length in rng.integers(1, 6, (count, 2)).tolist():
            library.run(np.zeros((batch, length, DEPTH), np.int8))
        return int(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)

    gc.collect()  # what other tests left
    peaks = [some(count) for count in (2_000, 5_000, 5_000)]
    # Once, after other tests, the heap may grow; what runs leave behind makes it grow each time.
    assert min(np.diff(peaks)) < 512  # KiB


def test_tvm_s_own_form_runs_any_sizes(tmp_path: Path) -> None:
    def short(x: relax.Expr) -> Sequence[relax.Expr]:
        scaled = q.requantize(x, 0.25, 1, 0.3, -5, "int8")
        return [scaled, q.quantized_mean(x, 2, False, 0.25, 1, 0.25, 1, "int8")]

    library = build(short, opened(("batch", "length"), (DEPTH,)))
    library.export(tmp_path / "m.so", format="tvm")
    module_ = tvm.runtime.load_module(str(tmp_path / "m.so"))
    machine = relax.VirtualMachine(module_, tvm.cpu())
    rng = np.random.default_rng(4)
    for batch, length in ((1, 1), (3, 5)):
        x = rng.integers(-128, 128, (batch, length, DEPTH)).astype(np.int8)
        found = machine["main"](tvm.runtime.tensor(x))
        for one, other in zip(found, outputs(library, x), strict=True):
            np.testing.assert_array_equal(one.numpy(), other)


def test_sums_of_float_products_are_those_of_a_build_for_the_size() -> None:
    """Both the columns and the depth of attention's products are open; long sums have panels."""

    def attention(x: relax.Expr) -> relax.Expr:
        emit = relax.BlockBuilder.current().emit
        scores = emit(R.matmul(x, emit(R.permute_dims(x, [0, 2, 1]))))
        return R.matmul(scores, x)

    def built(length: Any) -> Any:
        mod = module({"x": relax.TensorType((2, length, 20), "float32")}, attention)
        return tvm_qnn.build(mod, "host", num_threads=1)

    library, rng = built(tirx.Var("length", "int64")), np.random.default_rng(3)
    for length in (1, 5, 40, 300):
        x = rng.normal(size=(2, length, 20)).astype(np.float32)
        np.testing.assert_array_equal(library.run(x), built(length).run(x))
