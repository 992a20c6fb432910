import contextlib
from collections.abc import Callable
from math import prod
from typing import Any

import pytest
import tvm
from tvm import relax, tirx
from tvm.relax import op as R
from tvm.script.ir_builder import IRBuilder
from tvm.script.ir_builder import tirx as T
from tvm.tirx.buffer import decl_buffer
from tvm_ffi import structural_walk

from legalize import lower, relax_pipeline
from legalize.kernels.call import SORTED_LAST
from legalize.kernels.kernel import HAS_PLAIN_LOOPS, IS_KERNEL, IS_SMALL
from legalize.loop_functions import storing_function
from legalize.passes.bodies import TAKES_POINTERS, call_by_name, called
from qnn_ops.dialect.signature import ATTRIBUTE
from tests.support.modules import adder, module
from tests.support.onnx_recurrent import recurrent
from tvm_qnn import digits, from_onnx, from_tflite, zoo
from tvm_qnn.target import parts, passes
from tvm_qnn.target.codegen import compile_module
from tvm_qnn.target.passes import ALWAYS_LEFT_OUT, left_out, leveled
from tvm_qnn.target.target import parse_target


@tvm.ir.instrument.pass_instrument
class _Names:
    """Keeps the names of the passes that run."""

    def __init__(self) -> None:
        self.seen: set[str] = set()

    def run_before_pass(self, _mod: tvm.IRModule, info: Any) -> None:
        self.seen.add(info.name)


def test_they_are_passes_of_tvm_s() -> None:
    names = _Names()
    with tvm.transform.PassContext(instruments=[names]):
        tvm.compile(adder(), target="llvm")
    assert {
        *ALWAYS_LEFT_OUT,
        *passes._OF_BUFFERS,
        *passes._OF_INDICES,
        *passes._OF_PRIMITIVES,
        passes._MERGE,
        passes._NARROW,
    } <= names.seen


def padded() -> tvm.IRModule:
    """Conditions in loops, for the padding that a window reads."""
    ty = relax.TensorType((1, 3, 9, 9), "int32")
    return module({"x": ty}, lambda x: R.nn.max_pool2d(x, (3, 3), padding=(1, 1)))


def digits_network() -> tvm.IRModule:
    mod, params = from_tflite(digits.model("int8"))
    bound = relax.transform.BindParams("main", params)(mod)
    bound["main"] = bound["main"].without_attr(ATTRIBUTE)
    return bound


@pytest.mark.parametrize("target", ["x86-avx2", "aarch64", "riscv32"])
@pytest.mark.parametrize("model", [padded, digits_network])
def test_code_is_the_same_with_those_for_gpus(
    model: Callable[[], tvm.IRModule], target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    parsed = parse_target(target)
    with parsed:
        lowered = lower(model(), parsed)

    def code() -> dict[str, str]:
        compiled = compile_module(lowered, parsed, relax_pipeline(parsed))
        return {name: each.inspect_source("asm") for name, each in compiled.kernels.items()}

    without = code()
    kept = [name for name in ALWAYS_LEFT_OUT if name not in passes._OF_GPUS]
    monkeypatch.setattr(parts, "ALWAYS_LEFT_OUT", kept)
    assert without == code()


def function_of(index: str, *, has_block: bool) -> tirx.PrimFunc:
    """Return a function with a loop, and a buffer of a block."""
    with IRBuilder() as builder, T.prim_func(s_tir=True):
        T.func_name("loop")
        out = T.arg("out", T.buffer((4,), "int32"))
        with contextlib.ExitStack() as stack:
            if has_block:
                stack.enter_context(T.sblock("a_block"))
                T.sblock_alloc_buffer((4,), "int32")
            with T.serial(tirx.IntImm(index, 0), tirx.IntImm(index, 4)) as i:
                T.buffer_store(out, tirx.IntImm("int32", 1), [i])
    return builder.get()


def test_what_is_left_out_depends_on_the_function() -> None:
    kernel = function_of("int32", has_block=False)
    wide = function_of("int64", has_block=False)
    with_buffer = function_of("int32", has_block=True)
    assert left_out(kernel) == (*passes._OF_BUFFERS, passes._NARROW)
    assert left_out(wide) == left_out(kernel, wide) == passes._OF_BUFFERS
    assert left_out(with_buffer) == (passes._NARROW,)
    assert left_out(kernel, wide, with_buffer) == (passes._COMPACT,)


def function_of_axes(shape: tuple[int, ...]) -> tirx.PrimFunc:
    """Return a function that is marked as a kernel, and writes the first element."""
    with IRBuilder() as builder, T.prim_func(s_tir=True):
        T.func_name("store")
        out = T.arg("out", T.buffer(shape, "int32"))
        T.buffer_store(out, tirx.IntImm("int32", 1), [0] * len(shape))
    return builder.get().with_attr(IS_KERNEL, True)


def test_kernels_of_one_index_are_not_flattened() -> None:
    flat, of_two = function_of_axes((4,)), function_of_axes((2, 2))
    assert set(passes._OF_INDICES) <= set(left_out(flat))
    assert set(passes._OF_INDICES).isdisjoint(left_out(of_two))
    assert set(passes._OF_INDICES).isdisjoint(left_out(flat, of_two))
    assert set(passes._OF_INDICES).isdisjoint(left_out(flat.without_attr(IS_KERNEL)))


def test_kernels_leave_out_what_only_primitives_have() -> None:
    joined = function_of_axes((2, 2))  # its bodies may be those of primitives
    kernel = joined.with_attr(TAKES_POINTERS, True)
    primitive = kernel.without_attr(IS_KERNEL)
    assert set(passes._OF_PRIMITIVES) <= set(left_out(kernel))
    for others in ((joined,), (primitive,), (kernel, primitive)):
        assert set(passes._OF_PRIMITIVES).isdisjoint(left_out(*others))


def with_buffer(size: Any) -> tirx.PrimFunc:
    """Return a kernel that is called by name, with a local buffer of bytes."""
    with IRBuilder() as builder, T.prim_func(s_tir=True):
        T.func_name("local")
        T.arg("out", T.buffer((4,), "int32"))
        T.buffer_store(T.alloc_buffer((size,), "uint8", scope="local"), T.uint8(1), [0])
    return builder.get().with_attrs({IS_KERNEL: True, TAKES_POINTERS: True})


def test_buffers_of_kernels_that_are_called_by_name_are_not_merged() -> None:
    kernel = with_buffer(1025)
    assert passes._MERGE in left_out(kernel)
    assert passes._MERGE not in left_out(kernel.with_attr(HAS_PLAIN_LOOPS, True))
    assert passes._MERGE not in left_out(kernel.without_attr(TAKES_POINTERS))


@pytest.mark.parametrize("target", ["x86-avx512-vnni", "x86-avx2"])
def test_convolutions_allocate_large_buffers_outside_of_serial_loops(target: str) -> None:
    """Without the pass that moves them, each iteration would ask the runtime for memory."""
    mod, params = from_tflite(zoo.build("mobilenet_v1", "int8", size=96, width=0.25))
    lowered = lower(relax.transform.BindParams("main", params)(mod), parse_target(target))
    kernels = [each for each in lowered.functions.values() if IS_KERNEL in (each.attrs or {})]
    assert max(largest_in(kernel.body) for kernel in kernels) > 1024
    for kernel in kernels:
        loops: list[tirx.For] = []
        structural_walk(kernel.body, (tirx.For, loops.append))
        serial = [loop.body for loop in loops if loop.kind != tirx.ForKind.PARALLEL]
        assert max(map(largest_in, serial), default=0) <= 1024


def largest_in(body: tirx.Stmt) -> int:
    """Return the elements of the largest buffer that a statement allocates."""
    found: list[int] = [0]
    structural_walk(body, (tirx.AllocBuffer, lambda node: found.append(prod(node.buffer.shape))))
    return max(map(int, found))


@pytest.mark.parametrize(
    ("target", "attributes", "level"),
    [
        ("x86-avx2", {IS_KERNEL, TAKES_POINTERS}, 1),
        ("x86-avx2", {TAKES_POINTERS}, None),
        ("x86-avx2", {IS_KERNEL}, None),
        ("x86-avx2", {IS_KERNEL, TAKES_POINTERS, HAS_PLAIN_LOOPS}, None),
        ("x86-avx2", {IS_KERNEL, TAKES_POINTERS, IS_SMALL}, None),
        ("aarch64", {IS_KERNEL, TAKES_POINTERS}, None),
        (
            {"kind": "llvm", "mtriple": "x86_64-linux-gnu", "opt-level": 2},
            {IS_KERNEL, TAKES_POINTERS},
            2,
        ),
    ],
    ids=[
        "kernels",
        "primitives",
        "not called by name",
        "loops",
        "of a small network",
        "ARM",
        "a level that the user gave",
    ],
)
def test_kernels_of_x86_have_a_level(target: Any, attributes: set[str], level: int | None) -> None:
    function = function_of_axes((4,)).without_attr(IS_KERNEL)
    function = function.with_attrs(dict.fromkeys(attributes, True))
    assert leveled([function], parse_target(target)).attrs.get("opt-level") == level


@pytest.mark.parametrize(("target", "level"), [("x86-avx2", 0), ("aarch64", None)])
def test_functions_that_only_call_have_the_lowest_level_on_x86(
    target: str, level: int | None
) -> None:
    data = decl_buffer((4,), "int8", "data")
    (body,) = call_by_name("kernel", [data.data])
    function = storing_function([data], body).with_attr(IS_KERNEL, True)
    assert leveled([function], parse_target(target)).attrs.get("opt-level") == level
    pointers = function.with_attr(TAKES_POINTERS, True)
    assert leveled([pointers], parse_target(target)).attrs.get("opt-level") == (
        1 if level == 0 else None
    )


def test_loops_over_time_are_not_compiled_as_kernels() -> None:
    target = parse_target("x86-avx2")
    mod, params = from_onnx(recurrent("LSTM").model)
    with target:
        lowered = lower(relax.transform.BindParams("main", params)(mod), target)
    (loop,) = (
        function
        for variable, function in lowered.functions_items()
        if variable.name_hint.startswith(SORTED_LAST)
    )
    assert IS_KERNEL in loop.attrs
    assert leveled([called(loop, [])], target) is target
