import shutil
from pathlib import Path

import numpy as np
import pytest
from tvm import relax
from tvm.relax import op as R

import tvm_qnn
from qnn_ops import counted_indices
from qnn_ops.dialect.tensor_info import Signature
from qnn_ops.errors import QnnError
from tests.frontends.tflite.converters.test_variables import inputs as inputs_of_ring
from tests.frontends.tflite.converters.test_variables import ring
from tests.support.arrays import full_range
from tests.support.errors import fails
from tests.support.modules import adder, module
from tests.support.standalone import check_call, compile_example, run_example, run_standalone
from tests.support.tflite import library_of
from tvm_qnn import Library, digits
from tvm_qnn.build import export_c
from tvm_qnn.standalone.export import export_standalone
from tvm_qnn.target.target import parse_target

needs_cc = pytest.mark.skipif(not shutil.which("cc"), reason="no C compiler cc on the path")


def built(style: str, target: str = "host") -> Library:
    return library_of(digits.model(style), target)


@needs_cc
@pytest.mark.parametrize("style", digits.STYLES)
def test_a_network_gives_what_the_library_gives(style: str, tmp_path: Path) -> None:
    library = built(style)
    (info,) = library.inputs
    rng = np.random.default_rng(0)
    runs = [[full_range(rng, info.dtype, info.shape)] for _ in range(3)]
    results = [array for (array,) in run_standalone(library, runs, tmp_path)]
    for inputs, result in zip(runs, results, strict=True):
        np.testing.assert_array_equal(result, library.run(*inputs))
    assert len({array.tobytes() for array in results}) == 3
    # Inputs and outputs may lie in the workspace.
    imported, params = tvm_qnn.from_tflite(digits.model(style))
    export_c(imported, "host", params, tmp_path / "within", arena=True)
    program = compile_example(tmp_path, "within", "cc")
    same = run_example([program], library.signature, runs, tmp_path)
    np.testing.assert_array_equal([array for (array,) in same], results)
    assert "int within_run(void *workspace);" in (tmp_path / "within.h").read_text()
    sizes = [workspace_size(tmp_path / name) for name in ("within.h", "model.h")]
    assert sizes[0] <= sizes[1]


def workspace_size(header: Path) -> int:
    return int(header.read_text().split("WORKSPACE_SIZE ")[1].split()[0])


@needs_cc
def test_states_are_the_caller_s_beside_an_arena_too(tmp_path: Path) -> None:
    mod, params = tvm_qnn.from_tflite(ring())
    library = tvm_qnn.build(mod, "host", params)
    export_c(mod, "host", params, tmp_path / "model", arena=True)
    program = compile_example(tmp_path, "model", "cc")
    runs = inputs_of_ring(5)
    results = [array for (array,) in run_example([program], library.signature, runs, tmp_path)]
    np.testing.assert_array_equal(results, [library.run(*arrays) for arrays in runs])
    library = library_of(ring(), "host")
    runs = inputs_of_ring(5)
    results = [array for (array,) in run_standalone(library, runs, tmp_path)]
    np.testing.assert_array_equal(results, [library.run(*arrays) for arrays in runs])
    header = (tmp_path / "model.h").read_text()
    assert "#define MODEL_STATE_SIZE 128 " in header
    assert "int model_reset(void *state);" in header


@needs_cc
def test_several_outputs_copies_and_large_buffers_of_functions(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    weights = relax.const(full_range(rng, "int8", (3, 3, 4, 5)))

    def body(x: relax.Var, y: relax.Var) -> list[relax.Expr]:
        # The padded picture is a buffer of the function.
        conv = R.nn.conv2d(
            x, weights, padding=1, data_layout="NHWC", kernel_layout="HWIO", out_dtype="int32"
        )
        return [conv, y, R.reshape(y, (6,)), R.add(y, y)]

    types = {
        "x": relax.TensorType((1, 20, 20, 4), "int8"),
        "y": relax.TensorType((2, 3), "float32"),
    }
    library = tvm_qnn.build(module(types, body), "host")
    runs = [[full_range(rng, "int8", (1, 20, 20, 4)), rng.random((2, 3), np.float32)]]
    (outputs,) = run_standalone(library, runs, tmp_path)
    for output, expected in zip(outputs, library.run(*runs[0]).values(), strict=True):
        np.testing.assert_array_equal(output, expected)
    assert "AllocWorkspace" not in str((tmp_path / "model.o").read_bytes())


@needs_cc
def test_a_hook_follows_a_run(tmp_path: Path) -> None:
    library = built("int8")
    library.export(tmp_path / "model", format="c")
    (tmp_path / "main.c").write_text(
        """\
        #include "model.h"
        #include <stdio.h>
        static _Alignas(64) char x[MODEL_INPUT_0_SIZE], y[MODEL_OUTPUT_0_SIZE];
        static _Alignas(64) char memory[MODEL_WORKSPACE_SIZE];
        void told(int call, const char *function);
        void told(int call, const char *function) {
          printf("%d %s\\n", call, function ? function : "");
        }
        int main(void) {
          const void *inputs[] = {x};
          void *outputs[] = {y};
          return model_run(inputs, outputs, memory);
        }
        """
    )
    parts = [tmp_path / name for name in ("main.c", "model.c", "model.o")]
    flags = ("-Wall", "-Wextra", "-Werror", "-pedantic", "-DMODEL_HOOK=told")
    check_call(["cc", *flags, "-o", tmp_path / "hooked", *parts, "-lm"])
    lines = [line.split() for line in check_call([tmp_path / "hooked"]).splitlines()]
    assert [int(call) for call, *_ in lines] == list(range(len(lines)))
    assert len(lines) > 3
    assert lines[-1][1:] == []
    source = (tmp_path / "model.c").read_text()
    for _, function in lines[:-1]:
        assert f"extern void {function}(" in source or function == "memcpy"


@needs_cc
def test_two_models_link_into_one_program_that_needs_no_heap_and_no_threads(tmp_path: Path) -> None:
    library = tvm_qnn.build(adder(), "host")
    for name in ("first", "second"):
        library.export(tmp_path / name, format="c")
    (tmp_path / "main.c").write_text(
        """\
        #include "first.h"
        #include "second.h"
        #include <stdio.h>
        static _Alignas(64) signed char x[2][64] = {{1, 2, 3}, {10, 20, 30}}, y[2][64];
        static _Alignas(64) char memory[FIRST_WORKSPACE_SIZE];
        int main(void) {
          const void *inputs[] = {x[0], x[1]}, *wrong[] = {x[0] + 1, x[1]};
          void *first[] = {y[0]}, *second[] = {y[1]};
          if (first_run(inputs, first, memory) || second_run(inputs, second, memory)) return 1;
          printf("%d %d %d %d", y[0][0], y[1][2], first_run(wrong, first, memory),
                 first_run(inputs, first, NULL));
        }
        """
    )
    names = ("main.c", "first.c", "first.o", "second.c", "second.o")
    check_call(["cc", "-o", tmp_path / "both", *(tmp_path / name for name in names)])
    assert check_call([tmp_path / "both"]) == "11 33 1 1"
    if shutil.which("nm"):
        undefined = check_call(["nm", "-u", tmp_path / "first.o"]).split()
        assert set(undefined) <= {"U", "memcpy", "memset"}


@needs_cc
def test_the_example_tells_of_files_that_end_early(tmp_path: Path) -> None:
    tvm_qnn.build(adder(), "host").export(tmp_path / "m", format="c")
    program = compile_example(tmp_path, "m", "cc")
    (tmp_path / "x").write_bytes(bytes(9))
    with pytest.raises(AssertionError, match="x ends in the middle of an input"):
        check_call([program, *[tmp_path / "x"] * 2, tmp_path / "y"])
    fails(r"usage: .* INPUT\.\.\. OUTPUT\.\.\.", check_call, [program], error=AssertionError)


def test_the_header_tells_sizes_and_quantization(tmp_path: Path) -> None:
    library = built("uint8", "aarch64")
    library.export(tmp_path / "net", format="c")
    header = (tmp_path / "net.h").read_text()
    (info,) = library.inputs
    for line in (
        "made by tvm-qnn for aarch64-linux-gnu +neon.",
        f"#define NET_INPUT_0_SIZE {np.prod(info.shape)} ",
        f"#define NET_INPUT_0_SCALE {info.scale}f",
        f"#define NET_INPUT_0_ZERO_POINT ({info.zero_point})",
        "int net_run(const void *inputs[], void *outputs[], void *workspace);",
    ):
        assert line in header


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("my-net", "letters, digits and _ only, and begin with a letter: got 'my-net'"),
        ("net.o", "got 'net.o'"),
        ("nowhere/net", "there is no folder .*nowhere"),
    ],
)
def test_a_name_that_does_not_fit_is_an_error(tmp_path: Path, name: str, message: str) -> None:
    fails(message, tvm_qnn.build(adder(), "llvm").export, tmp_path / name, format="c")
    assert not list(tmp_path.iterdir())


def test_what_takes_the_runtime_is_refused_by_name(tmp_path: Path) -> None:
    ty = relax.TensorType((2, 3), "int8")
    builder = relax.BlockBuilder()
    x = relax.Var("x", ty)
    with builder.function("main", [x]):
        builder.emit_func_output(
            builder.emit(relax.call_pure_packed("vm.builtin.sort", x, ty_args=[ty]))
        )
    with pytest.raises(QnnError, match=r"it needs vm\.builtin\.sort; export it as \.so instead"):
        export_standalone(
            builder.get(), Signature((), ()), parse_target("llvm"), tmp_path / "model"
        )
    assert not list(tmp_path.iterdir())


@needs_cc
def test_a_place_that_is_not_there_is_the_nearest(tmp_path: Path) -> None:
    def taken(places: relax.Expr) -> relax.Expr:
        table = relax.const(np.array([3, 5, 7], np.int32))
        return R.take(table, counted_indices(places, 3, "it", from_end=True), 0, "clip")

    mod = module({"places": relax.TensorType((4,), "int32")}, taken)
    library = tvm_qnn.build(mod)
    places = np.array([0, -1, 9, -9], np.int32)
    fails("it: index 9 is beyond the 3", library.run, places)
    ((result,),) = run_standalone(library, [[places]], tmp_path)
    assert result.tolist() == [3, 7, 7, 3]
