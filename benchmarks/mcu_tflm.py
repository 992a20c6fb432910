"""Counts the instructions of plain C and of TFLite Micro's reference kernels.

python -m benchmarks.mcu_tflm MODEL.tflite... --sources FOLDER --core cortex-m4 --level -Os

``FOLDER`` has checkouts from github.com: ``tflite-micro`` (tensorflow), ``flatbuffers`` (google,
the release that TFLite Micro's schema_generated.h names), ``gemmlowp`` and ``ruy`` (google). The
same compiler with the same flags compiles both programs, and they run on QEMU's boards. The second
run is counted: TFLite Micro plans its memory in the first one.
"""

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import click
from rich.table import Table

from benchmarks.mcu_instructions import count
from benchmarks.models import inputs_of, models
from benchmarks.report import terminal
from frontends.tflite.reader import read_model
from qnn_ops.errors import QnnError
from tvm_qnn.footprint.boards import BOARDS, Result, missing, run
from tvm_qnn.io.command import call

_HERE = Path(__file__).parent
_CORES = ("cortex-m0plus", "cortex-m4")
_ARENA = 400_000  # bytes
_CHECKOUTS = ("tflite-micro", "flatbuffers", "gemmlowp", "ruy")

_KERNELS = (
    *("add", "add_common", "conv", "conv_common", "depthwise_conv", "depthwise_conv_common"),
    *("dequantize", "dequantize_common", "fully_connected", "fully_connected_common"),
    *("kernel_util", "pooling", "pooling_common", "quantize", "quantize_common", "reshape"),
    *("reshape_common", "softmax", "softmax_common"),
)
_CORE = (
    *("micro/flatbuffer_utils", "micro/memory_helpers", "micro/micro_allocation_info"),
    *("micro/micro_allocator", "micro/micro_context", "micro/micro_interpreter"),
    *("micro/micro_interpreter_context", "micro/micro_interpreter_graph", "micro/micro_log"),
    *("micro/micro_op_resolver", "micro/micro_resource_variable", "micro/micro_utils"),
    "micro/arena_allocator/non_persistent_arena_buffer_allocator",
    "micro/arena_allocator/persistent_arena_buffer_allocator",
    "micro/arena_allocator/single_arena_buffer_allocator",
    *("micro/memory_planner/greedy_memory_planner", "micro/memory_planner/linear_memory_planner"),
    "micro/tflite_bridge/flatbuffer_conversions_bridge",
    "micro/tflite_bridge/micro_error_reporter",
    *("core/api/flatbuffer_conversions", "core/api/tensor_utils", "core/c/common"),
    *("kernels/internal/common", "kernels/internal/quantization_util"),
    *("kernels/internal/runtime_shape", "kernels/internal/tensor_ctypes"),
    *("kernels/internal/portable_tensor_utils", "kernels/internal/tensor_utils"),
    *("kernels/internal/reference/portable_tensor_utils", "kernels/kernel_util"),
    *("../compiler/mlir/lite/core/api/error_reporter", "../compiler/mlir/lite/schema/schema_utils"),
)
_FLAGS = (
    *("-std=c++17", "-mthumb", "-fno-rtti", "-fno-exceptions", "-fno-threadsafe-statics"),
    *("-fno-unwind-tables", "-fno-asynchronous-unwind-tables", "-ffunction-sections"),
    *("-fdata-sections", "-w", "-DTF_LITE_STATIC_MEMORY", "-DTF_LITE_STRIP_ERROR_STRINGS"),
)


class Library:
    """TFLite Micro, compiled for a core.

    Args:
        sources: the folder of checkouts.
        core: a name in ``BOARDS``.
        level: the compiler's optimization flag.
        folder: the folder for object files; existing files are not compiled again.

    Raises:
        QnnError: a checkout or a tool is missing, or a file does not compile.
    """

    def __init__(self, sources: Path, core: str, level: str, folder: Path) -> None:
        absent = [name for name in _CHECKOUTS if not (sources / name).is_dir()]
        if absent:
            raise QnnError(f"{sources} has no checkout {', '.join(absent)}")
        self.core, self._prefix = core, BOARDS[core].family.prefix
        includes = [sources / name for name in ("tflite-micro", "gemmlowp", "ruy")]
        includes.append(sources / "flatbuffers" / "include")
        places = [f"-I{path}" for path in includes]
        self._flags = [level, f"-mcpu={BOARDS[core].core}", "-mfloat-abi=soft", *_FLAGS, *places]
        lite = sources / "tflite-micro" / "tensorflow" / "lite"
        names = [*_CORE, *(f"micro/kernels/{name}" for name in _KERNELS)]
        folder = folder / f"{core}{level}"
        folder.mkdir(parents=True, exist_ok=True)
        self._objects = [folder / f"{name.replace('/', '_')}.o" for name in names]
        for name, made in zip(names, self._objects, strict=True):
            if not made.exists():
                self._compile(lite / f"{name}.cc", made)

    def _compile(self, source: Path, made: Path, *options: str) -> None:
        call([f"{self._prefix}g++", *self._flags, *options, "-c", source, "-o", made])

    def export(self, model: bytes, folder: Path) -> None:
        """Write a model with the interpreter, in the files of an export to ``folder / "model"``."""
        graph = read_model(model)
        (first,), (last,) = graph.inputs, graph.outputs
        sizes = [graph.tensors[index] for index in (first, last)]
        read, made = (_bytes(tensor) for tensor in sizes)
        (folder / "model.h").write_text(
            f"#define MODEL_ALIGNMENT 16\n#define MODEL_WORKSPACE_SIZE {_ARENA}\n"
            f"#define MODEL_INPUT_0_SIZE {read}\n#define MODEL_OUTPUT_0_SIZE {made}\n"
            "#ifndef __cplusplus\n"
            "int model_run(const void *const *inputs, void *const *outputs, void *workspace);\n"
            "#endif\n"
        )
        (folder / "model.c").write_text("typedef int model_is_in_the_object;\n")
        (folder / "model.tflite").write_bytes(model)
        data = folder / "data.s"
        data.write_text(
            '.section .rodata.model, "a"\n.balign 16\n.global model_data\nmodel_data:\n'
            f'.incbin "{folder / "model.tflite"}"\n'
        )
        objects = [folder / "data.o", folder / "tflm.o"]
        call([f"{self._prefix}gcc", "-mthumb", "-c", data, "-o", objects[0]])
        self._compile(_HERE / "mcu_tflm.cc", objects[1], f"-I{folder}")
        whole = folder / "model.o"
        call([f"{self._prefix}ld", "-r", *objects, *self._objects, "-o", whole])


def _bytes(tensor: object) -> int:
    import numpy as np

    return int(np.prod(tensor.shape)) * np.dtype(tensor.dtype).itemsize  # type: ignore[attr-defined]


def _rows(library: Library, names: Sequence[str], level: str) -> Iterator[tuple[str, ...]]:
    for name, model in models(names):
        inputs = inputs_of(model) * 2
        with tempfile.TemporaryDirectory() as folder:
            ours = count(model, library.core, inputs, Path(folder), plain_c=True, level=level)
        with tempfile.TemporaryDirectory() as folder:
            library.export(model, Path(folder))
            theirs = run(BOARDS[library.core], Path(folder), inputs, level=level)
        yield name, library.core, *_pair(ours, theirs), str(_different(ours, theirs))


def _pair(ours: Result, theirs: Result) -> Iterator[str]:
    for a, b in (
        (ours.instructions[1], theirs.instructions[1]),
        (ours.code + ours.constants, theirs.code + theirs.constants),
    ):
        yield from (f"{a:,}", f"{b:,}", f"{a / b:.2f}")


def _different(ours: Result, theirs: Result) -> int:
    pairs = zip(ours.outputs[0], theirs.outputs[0], strict=True)
    return sum(a != b for a, b in pairs)


@click.command()
@click.argument("names", metavar="MODEL...", nargs=-1, required=True)
@click.option(
    "--sources", required=True, type=click.Path(exists=True, file_okay=False, path_type=Path)
)
@click.option("--core", "cores", multiple=True, type=click.Choice(_CORES), default=_CORES)
@click.option("--level", default="-Os", show_default=True)
@click.option(
    "--objects",
    default=Path("out/tflm"),
    show_default=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="Keeps the compiled interpreter.",
)
def main(
    names: Sequence[str], sources: Path, cores: Sequence[str], level: str, objects: Path
) -> None:
    """Compare plain C with TFLite Micro for each MODEL, a file or a network of the zoo."""
    if reason := missing():
        raise click.ClickException(reason)
    head = ("model", "core", "plain C", "TFLM", "ratio", "bytes", "TFLM", "ratio", "other outputs")
    table = Table(*head)
    try:
        for core in cores:
            library = Library(sources.absolute(), core, level, objects.absolute())
            for row in _rows(library, names, level):
                table.add_row(*row)
    except QnnError as error:
        raise click.ClickException(str(error)) from error
    terminal().print(table)


if __name__ == "__main__":
    main()
