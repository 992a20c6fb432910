import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
import tvm
from tvm.script.ir_builder import IRBuilder
from tvm.script.ir_builder import tirx as T

from legalize.kernels.conv2d.plan import Weights
from legalize.kernels.conv2d.spec import ConvSpec
from legalize.kernels.conv2d.stage import stage
from legalize.kernels.conv2d.x86.amx import division
from legalize.kernels.conv2d.x86.amx.cost import nanoseconds
from legalize.kernels.conv2d.x86.amx.plan import cut
from legalize.kernels.conv2d.x86.dot.plan import dot_plan
from legalize.kernels.conv2d.x86.plan import BUILT, Plan
from legalize.kernels.conv2d.x86.tiling import microseconds
from legalize.kernels.ir.tasks import NUM_THREADS, as_threads, shared_loop, task_count
from legalize.kernels.isa.x86 import AVX512_VNNI
from qnn_ops.dialect.windows import sliding_windows
from tests.support.arrays import full_range
from tests.support.errors import giving
from tests.support.programs import Case
from tests.support.tiles import use_soft_tiles
from tests.support.x86 import TARGET, needs_native_vnni, prepared

SPEC = ConvSpec(
    3, 35, 33, 64, 3, 3, 80, padding=(1, 1, 1, 1), input_zero_point=3, has_asymmetric_kernel=True
)


THREADS = (1, 2, 3)


@contextmanager
def threads(count: int) -> Iterator[Callable[..., Any]]:
    """Yield a function that calls functions with so many TVM threads, however many cores there are.

    It calls them in a thread of its own, as TVM makes a pool for each thread that asks for one,
    and keeps its size.
    """
    settings = {"TVM_NUM_THREADS": str(count), "TVM_BIND_THREADS": "0"}
    with patch.dict(os.environ, settings), ThreadPoolExecutor(1) as executor:
        yield lambda *call: executor.submit(*call).result()


@pytest.fixture(params=THREADS)
def in_threads(request: pytest.FixtureRequest) -> Iterator[Callable[..., Any]]:
    """Yield such a function for each number of threads."""
    with threads(request.param) as call:
        yield call


def count_steps(tasks: int, extent: int) -> Any:
    with IRBuilder() as builder, T.prim_func(s_tir=True):
        T.func_name("count")
        T.func_attr({"global_symbol": "count"})
        counts = T.arg("counts", T.buffer((extent,), "int32"))
        shared_loop(tasks, extent, lambda step: T.buffer_store(counts, counts[step] + 1, [step]))
    return builder.get()


@pytest.mark.parametrize(("tasks", "extent"), [(1, 7), (2, 7), (24, 274), (12, 5), (120, 1000)])
def test_every_turn_is_done_once(in_threads: Callable[..., Any], tasks: int, extent: int) -> None:
    library = tvm.compile(count_steps(tasks, extent), target="llvm")
    counts = tvm.runtime.tensor(np.zeros(extent, np.int32))
    in_threads(library["count"], counts)
    np.testing.assert_array_equal(counts.numpy(), np.ones(extent))


def begin_tasks(most: int) -> Any:
    with IRBuilder() as builder, T.prim_func(s_tir=True):
        T.func_name("begin")
        T.func_attr({"global_symbol": "begin"})
        marks = T.arg("marks", T.buffer((most,), "int32"))
        with T.parallel(as_threads(most)) as task:
            T.buffer_store(marks, marks[task] + 1, [task])
    return builder.get()


@pytest.mark.parametrize("most", [2, 24])
def test_each_thread_has_one_task_where_that_is_wanted(
    in_threads: Callable[..., Any], most: int
) -> None:
    library = tvm.compile(begin_tasks(most), target="llvm")
    marks = tvm.runtime.tensor(np.zeros(most, np.int32))
    in_threads(library["begin"], marks)
    # TVM has no more threads than there are processors.
    begun = min(in_threads(tvm.get_global_func(NUM_THREADS)), most)
    np.testing.assert_array_equal(marks.numpy(), np.arange(most) < begun)


test_little_work_is_not_shared = giving(
    task_count,
    (0, 1),
    (7, 1),
    (8, 2),
    (40, 6),
    (150, 24),
    (1e6, 120),
)


@needs_native_vnni
@pytest.mark.parametrize("out_channels", [80, 208])
def test_results_do_not_depend_on_threads(out_channels: int) -> None:
    """The sums of zero points, the staging and the convolution are shared out here."""
    plan = dot_plan(replace(SPEC, out_channels=out_channels), AVX512_VNNI)
    assert task_count(microseconds(plan.spec, plan.products, plan.tiling)) > 3
    check(plan)


@needs_native_vnni
@pytest.mark.parametrize(
    ("by_pixels", "out_channels"), [(False, 208), (True, 144)], ids=["turns", "pixels"]
)
def test_results_of_tiles_do_not_depend_on_threads(
    monkeypatch: pytest.MonkeyPatch, out_channels: int, *, by_pixels: bool
) -> None:
    use_soft_tiles(monkeypatch)
    monkeypatch.setattr(division, "is_by_pixels", lambda *_: by_pixels)
    plan = cut(replace(SPEC, out_channels=out_channels))
    assert any(section.blocks > 1 for section in plan.tiling)
    BUILT.clear()
    assert task_count(nanoseconds(plan) / 1000) > 3
    check(plan)


def check(plan: Plan) -> None:
    """Compare a convolution's sums with the definition's, with each number of threads."""
    spec, rng = plan.spec, np.random.default_rng(0)
    kernel = full_range(rng, "int8", (spec.out_channels, 3, 3, 64))
    packed = plan.pack(Weights(kernel, -9))
    data = full_range(rng, "uint8", spec.in_shape)
    padded = np.pad(data, ((0, 0), (1, 1), (1, 1), (0, 0)), constant_values=3)
    windows = sliding_windows(padded.astype(np.int32) - 3, (3, 3))
    sums = np.einsum("nyxcij,oijc->nyxo", windows, kernel.astype(np.int32) + 9, optimize=True)
    cases = [
        Case(stage(spec), [data], spec.staged_shape, "uint8"),
        Case(plan.function(packed), [padded, *packed.constants], spec.out_shape, "int32"),
    ]
    calls = prepared(TARGET["mcpu"], cases)
    for count in THREADS:
        with threads(count) as in_threads:
            for call, expected in zip(calls, (padded, sums), strict=True):
                np.testing.assert_array_equal(in_threads(call), expected)
