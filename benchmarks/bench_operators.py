"""Times the kernels of operators other than convolutions, and their portable primitives.

python -m benchmarks.bench_operators                       # for this machine
python -m benchmarks.bench_operators --target "llvm -mcpu=nehalem" add

A row is the fastest of many calls on one thread. Its speed counts the bytes that it reads and
writes, so the speed of memory and caches is the limit.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import click
import numpy as np
import tvm
from tvm import relax

from benchmarks.machine import setting
from benchmarks.race_report import setting_lines
from benchmarks.report import as_table, terminal
from legalize import lower, relax_pipeline
from qnn_ops import (
    dequantize,
    quantize,
    quantized_add,
    quantized_concat,
    quantized_lookup,
    quantized_mean,
    quantized_multiply,
    quantized_pad,
    quantized_pool2d,
    quantized_resize2d,
    quantized_softmax,
    requantize,
)
from qnn_ops.tables.lookup import Ends, logistic_table
from tvm_qnn.library.threads import use_threads
from tvm_qnn.target.target import parse_target

_REPEATS = 30
_PAIR: dict[str, Any] = {
    "lhs_scale": 0.02,
    "lhs_zero_point": 3,
    "rhs_scale": 0.0313,
    "rhs_zero_point": 7,
    "output_scale": 0.0417,
    "output_zero_point": 12,
    "out_dtype": "uint8",
}
_CHANGE: dict[str, Any] = {
    "input_scale": 0.02,
    "input_zero_point": 3,
    "output_scale": 0.0313,
    "output_zero_point": 9,
    "out_dtype": "uint8",
}
_JOIN: dict[str, Any] = {
    "input_zero_points": [3, 3],
    "output_scale": 0.02,
    "output_zero_point": 3,
    "out_dtype": "uint8",
}
_SOFTMAX: dict[str, Any] = {
    "input_scale": 0.1,
    "input_zero_point": 3,
    "output_scale": 1 / 256,
    "output_zero_point": 0,
    "out_dtype": "uint8",
}
_TABLE = logistic_table(Ends(0.05, 100, 1 / 256, 0, "uint8"))
_REAL: dict[str, Any] = {"scale": 0.0078125, "zero_point": 128}


@dataclass(frozen=True)
class Case:
    """One call of an operator.

    Attributes:
        name: the row's name.
        operator: an operator of the dialect.
        shapes: the operands' shapes.
        attrs: the call's attributes.
        table: a constant last operand.
        dtype: the operands' dtype.
    """

    name: str
    operator: Any
    shapes: tuple[tuple[int, ...], ...]
    attrs: dict[str, Any]
    table: np.ndarray[Any, Any] | None = None
    dtype: str = "uint8"


def _pool(pool_type: str, size: int, strides: int = 1, padding: int = 0) -> dict[str, Any]:
    shape = {"pool_size": size, "strides": strides, "padding": padding, "layout": "NHWC"}
    return {"pool_type": pool_type, **shape}


_IMAGE = (1, 28, 28, 256)
CASES = (
    Case("add", quantized_add, (_IMAGE, _IMAGE), _PAIR),
    Case("add, one per channel", quantized_add, (_IMAGE, (1, 1, 1, 256)), _PAIR),
    Case("multiply", quantized_multiply, (_IMAGE, _IMAGE), _PAIR),
    Case("requantize", requantize, (_IMAGE,), _CHANGE),
    Case("lookup", quantized_lookup, (_IMAGE,), {}, _TABLE),
    Case("concat", quantized_concat, (_IMAGE, _IMAGE), {**_JOIN, "input_scales": [0.02] * 2}),
    Case(
        "concat, rescaled",
        quantized_concat,
        (_IMAGE, _IMAGE),
        {**_JOIN, "input_scales": [0.02, 0.03]},
    ),
    Case("max pool 3×3", quantized_pool2d, ((1, 35, 35, 288),), _pool("max", 3, padding=1)),
    Case("average pool 3×3", quantized_pool2d, ((1, 35, 35, 288),), _pool("avg", 3, padding=1)),
    Case("average pool 7×7", quantized_pool2d, ((1, 7, 7, 1280),), _pool("avg", 7)),
    Case("mean", quantized_mean, (_IMAGE,), {"axis": [1, 2], "keepdims": True, **_CHANGE}),
    Case(
        "pad",
        quantized_pad,
        ((1, 56, 56, 64),),
        {"pad_width": [0, 0, 1, 1, 1, 1, 0, 0], "pad_value": 3},
    ),
    Case(
        "bilinear", quantized_resize2d, ((1, 28, 28, 64),), {"size": [56, 56], "method": "bilinear"}
    ),
    Case(
        "nearest neighbour",
        quantized_resize2d,
        ((1, 28, 28, 64),),
        {"size": [56, 56], "method": "nearest_neighbor"},
    ),
    Case("softmax", quantized_softmax, ((1, 1001),), _SOFTMAX),
    Case(
        "quantize", quantize, ((1, 224, 224, 3),), {**_REAL, "out_dtype": "uint8"}, None, "float32"
    ),
    Case("dequantize", dequantize, (_IMAGE,), _REAL),
)


@dataclass(frozen=True)
class Row:
    """The figures of one case: seconds with kernels and without, and the bytes touched."""

    case: Case
    kernel: float
    primitives: float
    size: int

    def cells(self) -> list[str]:
        """Return the cells as text."""
        shape = "×".join(map(str, self.case.shapes[0]))
        return [
            f"{self.case.name}, {shape}",
            f"{self.kernel * 1e6:.2f}",
            f"{self.size / self.kernel / 1e9:.1f}",
            f"{self.primitives * 1e6:.2f}",
            f"{self.primitives / self.kernel:.1f}",
        ]


HEAD = ("operator", "kernel µs", "GB/s", "primitives µs", "times as fast")


def measure(case: Case, target: tvm.target.Target, repeats: int = _REPEATS) -> Row:
    """Time a case with kernels and without, in turn."""
    rng = np.random.default_rng(0)
    data = [rng.integers(0, 256, shape).astype(case.dtype) for shape in case.shapes]
    mod = _module(case)
    arrays = [tvm.runtime.tensor(array) for array in data]
    timers = {kernels: _timer(mod, target, kernels) for kernels in (True, False)}
    seconds: dict[bool, list[float]] = {True: [], False: []}
    for _ in range(repeats):
        for kernels, timer in timers.items():
            seconds[kernels].append(min(timer(*arrays).results))
    output = mod["main"].ret_ty
    result = np.prod([int(dim) for dim in output.shape]) * np.dtype(str(output.dtype)).itemsize
    size = sum(array.nbytes for array in data) + int(result)
    return Row(case, min(seconds[True]), min(seconds[False]), size)


def _module(case: Case) -> tvm.IRModule:
    parameters = [
        relax.Var(f"x{number}", relax.TensorType(shape, case.dtype))
        for number, shape in enumerate(case.shapes)
    ]
    operands: list[Any] = [*parameters]
    if case.table is not None:
        operands.append(relax.const(case.table))
    if case.operator is quantized_concat:
        operands = [operands]
    builder = relax.BlockBuilder()
    with builder.function("main", parameters):
        with builder.dataflow():
            result = builder.emit_output(builder.emit(case.operator(*operands, **case.attrs)))
        builder.emit_func_output(result)
    return builder.get()


def _timer(mod: tvm.IRModule, target: tvm.target.Target, kernels: bool) -> Any:
    lowered = lower(mod, target, kernels=kernels)
    library = tvm.compile(lowered, target=target, relax_pipeline=relax_pipeline(target))
    machine = relax.VirtualMachine(library, tvm.cpu())
    return machine.time_evaluator("main", tvm.cpu(), number=10, repeat=2, min_repeat_ms=1)


@click.command(help=__doc__)
@click.argument("names", nargs=-1)
@click.option("--target", default="host", show_default=True, help="What to compile for.")
def main(names: Sequence[str], target: str) -> None:
    """Print a table of the cases whose names begin with one of NAMES, or of all cases."""
    parsed = parse_target(target)
    use_threads(1)
    chosen = [case for case in CASES if not names or case.name.startswith(tuple(names))]
    rows = [measure(case, parsed).cells() for case in chosen]
    console = terminal()
    for line in setting_lines(setting(("tvm-qnn", "apache-tvm")), 1):
        console.print(line)
    console.print(as_table(HEAD, rows, f"Operators for {target}"))


if __name__ == "__main__":
    main()
