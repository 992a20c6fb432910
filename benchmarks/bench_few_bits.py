"""Times layers with weights of a few bits (MatMulNBits) in tvm-qnn and ONNX Runtime.

On one core, all in turn::

    python -m benchmarks.bench_few_bits
    python -m benchmarks.bench_few_bits --layer 1,4096,11008
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import numpy as np
from rich.console import Console

import tvm_qnn as qnn
from benchmarks.machine import setting
from benchmarks.race_report import setting_lines
from benchmarks.report import as_table, markdown, markdown_table
from tvm_qnn.io.outputs import write_text
from tvm_qnn.timing import alternate, milliseconds, one_core

_HEADER = [
    *("rows, depth, units", "bits", "data", "tvm-qnn, ms", "ONNX Runtime, ms", "ratio"),
    *("float32 weights, ms", "ratio"),
]
_LAYERS = ("1,4096,4096", "64,768,768")
_FORMS = {"float32": 0, "integers": 4}
"""The accuracy levels, by the form in which data is multiplied."""
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
    """Time tvm-qnn and ONNX Runtime on layers with weights from a seed."""
    console = Console(highlight=False)
    rows = []
    # This imports ONNX Runtime, which would choose other kernels if it found a single core, so it
    # comes first.
    forms = [
        (layer, bits, form, *_models(_sizes(layer), bits, level))
        for layer in layers
        for bits in (4, 8)
        for form, level in _FORMS.items()
    ]
    with one_core():
        for layer, bits, form, data, model, widened in forms:
            runs = {
                "ours": _here(model, data),
                "theirs": _there(model, data),
                "widened": _here(widened, data),
            }
            times = alternate(runs, rounds, seconds)
            ours, *others = (times[key].median for key in runs)
            told = [text for each in others for text in (milliseconds(each), f"{ours / each:.2f}")]
            rows.append([layer, str(bits), form, milliseconds(ours), *told])
    console.print(as_table(_HEADER, rows, f"Weights with a scale for each {_BLOCK}"))
    output.mkdir(parents=True, exist_ok=True)
    told = setting_lines(setting(["onnx", "onnxruntime"]), 1)
    write_text(output / "few_bits.md", markdown(told, markdown_table(_HEADER, rows)))


def _sizes(text: str) -> Sizes:
    try:
        rows, depth, units = map(int, text.split(","))
    except ValueError:
        raise click.UsageError(f"a layer is ROWS,DEPTH,UNITS, got {text!r}") from None
    if min(rows, depth, units) < 1 or depth % _BLOCK:
        raise click.UsageError(f"a layer's depth is a multiple of {_BLOCK}, got {text!r}")
    return rows, depth, units


def _models(sizes: Sizes, bits: int, level: int) -> tuple[Any, Any, Any]:
    """Return data, a model of a layer, and a model of the same layer with float32 weights."""
    rows, depth, units = sizes
    rng, blocks = np.random.default_rng(1), depth // _BLOCK
    data = rng.normal(0, 1, (rows, depth)).astype(np.float32)
    values = rng.integers(0, 1 << bits, (units, blocks, _BLOCK))
    scales = rng.uniform(0.01, 0.05, (units, blocks)).astype(np.float32)
    parts = values.reshape(units, blocks, -1, _BYTE // bits) << np.arange(0, _BYTE, bits)
    real = ((values - (1 << (bits - 1))) * scales[..., None]).astype(np.float32)
    attributes = {"N": units, "K": depth, "bits": bits, "block_size": _BLOCK}
    attributes["accuracy_level"] = level
    constants = {"w": parts.sum(-1).astype(np.uint8), "s": scales.reshape(-1)}
    layer = _model("MatMulNBits", data, units, constants, **attributes)
    columns = {"w": np.ascontiguousarray(real.reshape(units, depth).T)}
    return data, layer, _model("MatMul", data, units, columns)


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
