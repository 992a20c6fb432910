"""Times layers with weights of a few bits (MatMulNBits) in tvm-qnn, ONNX Runtime and llama.cpp.

All run in turn on one core, beside a copy of the weights. llama.cpp takes part if llama-cpp-python
is installed::

    python -m benchmarks.bench_few_bits
    python -m benchmarks.bench_few_bits --layer 1,4096,11008
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np

import tvm_qnn as qnn
from benchmarks import goals
from benchmarks.machine import setting
from benchmarks.peers import llama_cpp
from benchmarks.race_report import setting_lines
from benchmarks.report import as_table, markdown, markdown_table, terminal
from tvm_qnn.io.outputs import write_text
from tvm_qnn.timing import alternate, milliseconds, one_core

_HEADER = [
    *("rows, depth, units", "bits", "data", "tvm-qnn, ms", "ONNX Runtime, ms", "ratio"),
    *("float32 weights, ms", "ratio", "a copy of the weights, ms", "ratio"),
    *("llama.cpp, ms", "ratio"),
]
_LAYERS = ("1,4096,4096", "64,768,768")
_FORMS = {"float32": 0, "integers": 4}
"""The accuracy levels, by the form in which data is multiplied."""
_GOALS = {"ONNX Runtime": goals.ROW, "copy": goals.COPY}
"""The goals of one row."""
_BLOCK, _BYTE = 32, 8

Sizes = tuple[int, int, int]


@click.command()
@click.option("--layer", "layers", default=_LAYERS, show_default=True, multiple=True)
@click.option("--rounds", default=15, show_default=True, type=click.IntRange(min=1))
@click.option("--seconds", default=15.0, show_default=True, help="For one form.")
@click.option(
    "--output",
    default=Path("out"),
    show_default=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="The folder for few_bits.md.",
)
def main(layers: tuple[str, ...], rounds: int, seconds: float, output: Path) -> None:
    """Time layers with weights from a seed."""
    console = terminal()
    rows = []
    # This imports ONNX Runtime, which would choose other kernels if it found a single core, so it
    # comes first.
    forms = [
        (layer, bits, form, _layer(_sizes(layer), bits, level))
        for layer in layers
        for bits in (4, 8)
        for form, level in _FORMS.items()
    ]
    with one_core():
        for layer, bits, form, made in forms:
            runs = {
                "ours": _here(made.few_bits, made.data),
                "ONNX Runtime": _there(made.few_bits, made.data),
                "widened": _here(made.widened, made.data),
                "copy": _copy(made.bytes_of_weights),
            }
            # Its kernels multiply integers.
            if form == "integers" and llama_cpp.is_there():
                runs["llama.cpp"] = llama_cpp.product(made.weights, bits, made.data)
            times = alternate(runs, rounds, seconds)
            medians = {key: times[key].median for key in runs}
            ours = medians.pop("ours")
            of_row = _GOALS if _sizes(layer)[0] == 1 else {}
            row = [layer, str(bits), form, milliseconds(ours)]
            for key, each in medians.items():
                row += [milliseconds(each), goals.beside(ours / each, of_row.get(key))]
            rows.append(row + ["–"] * (len(_HEADER) - len(row)))
    console.print(as_table(_HEADER, rows, f"Weights with a scale for each {_BLOCK}"))
    output.mkdir(parents=True, exist_ok=True)
    told = setting_lines(setting(["onnx", "onnxruntime", llama_cpp.DISTRIBUTION]), 1)
    write_text(output / "few_bits.md", markdown(told, markdown_table(_HEADER, rows)))


def _sizes(text: str) -> Sizes:
    try:
        rows, depth, units = map(int, text.split(","))
    except ValueError:
        raise click.UsageError(f"a layer is ROWS,DEPTH,UNITS, got {text!r}") from None
    if min(rows, depth, units) < 1 or depth % _BLOCK:
        raise click.UsageError(f"a layer's depth is a multiple of {_BLOCK}, got {text!r}")
    return rows, depth, units


class _Layer(NamedTuple):
    """A layer, and data for it.

    Attributes:
        data: float32 [rows, depth].
        weights: float32 [units, depth], which are exact in few bits.
        few_bits: an ONNX model with few bits.
        widened: an ONNX model with weights of float32.
        bytes_of_weights: the bytes of the few bits and their scales.
    """

    data: Any
    weights: Any
    few_bits: Any
    widened: Any
    bytes_of_weights: int


def _layer(sizes: Sizes, bits: int, level: int) -> _Layer:
    rows, depth, units = sizes
    rng, blocks = np.random.default_rng(1), depth // _BLOCK
    data = rng.normal(0, 1, (rows, depth)).astype(np.float32)
    values = rng.integers(0, 1 << bits, (units, blocks, _BLOCK))
    scales = rng.uniform(0.01, 0.05, (units, blocks)).astype(np.float32)
    parts = values.reshape(units, blocks, -1, _BYTE // bits) << np.arange(0, _BYTE, bits)
    real = ((values - (1 << (bits - 1))) * scales[..., None]).astype(np.float32)
    weights = real.reshape(units, depth)
    attributes = {"N": units, "K": depth, "bits": bits, "block_size": _BLOCK}
    attributes["accuracy_level"] = level
    constants = {"w": parts.sum(-1).astype(np.uint8), "s": scales.reshape(-1)}
    return _Layer(
        data,
        weights,
        few_bits=_model("MatMulNBits", data, units, constants, **attributes),
        widened=_model("MatMul", data, units, {"w": np.ascontiguousarray(weights.T)}),
        bytes_of_weights=sum(each.nbytes for each in constants.values()),
    )


def _model(op: str, data: Any, units: int, constants: dict[str, Any], **attributes: Any) -> Any:
    import onnx

    helper, kind = onnx.helper, onnx.TensorProto.FLOAT
    domain = "com.microsoft" if attributes else ""
    node = helper.make_node(op, ["x", *constants], ["y"], domain=domain, **attributes)
    ends = [
        helper.make_tensor_value_info(name, kind, shape)
        for name, shape in (("x", data.shape), ("y", (data.shape[0], units)))
    ]
    tensors = [onnx.numpy_helper.from_array(array, name) for name, array in constants.items()]
    graph = helper.make_graph([node], "layer", ends[:1], ends[1:], tensors)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def _copy(size: int) -> Callable[[], Any]:
    source, target = np.ones(size, np.uint8), np.empty(size, np.uint8)
    return lambda: np.copyto(target, source)


def _here(model: Any, data: Any) -> Callable[[], Any]:
    mod, params = qnn.from_onnx(model)
    library = qnn.build(mod, "host", params, num_threads=1)
    return lambda: library.run(data)


def _there(model: Any, data: Any) -> Callable[[], Any]:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    providers = ["CPUExecutionProvider"]
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers)
    return lambda: session.run(None, {"x": data})[0]


if __name__ == "__main__":
    main()
