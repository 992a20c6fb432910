"""Times networks like BERT in tvm-qnn and ONNX Runtime, whose own functions quantize them.

On one core, both in turn::

    python -m benchmarks.bench_transformer
    python -m benchmarks.bench_transformer --layers 12 --width 768
"""

import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import numpy as np

import tvm_qnn as qnn
from benchmarks.machine import setting
from benchmarks.race_report import setting_lines
from benchmarks.report import as_table, markdown, markdown_table, terminal
from benchmarks.transformer import SMALL, Sizes, dynamic, network, sentence, static
from tvm_qnn.io.outputs import write_text
from tvm_qnn.timing import alternate, milliseconds, one_core

_HEADER = ["quantized", "tvm-qnn, ms", "ONNX Runtime, ms", "ratio", "largest difference"]
_DEPTH = 64
"""The width of a head."""


@click.command()
@click.option("--layers", default=SMALL.layers, show_default=True, type=click.IntRange(min=1))
@click.option("--width", default=SMALL.width, show_default=True, type=click.IntRange(min=_DEPTH))
@click.option("--tokens", default=SMALL.tokens, show_default=True, type=click.IntRange(min=1))
@click.option("--rounds", default=15, show_default=True, type=click.IntRange(min=1))
@click.option("--seconds", default=15.0, show_default=True, help="For one form.")
@click.option(
    "--output",
    default=Path("out"),
    show_default=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="The folder for transformer.md.",
)
def main(layers: int, width: int, tokens: int, rounds: int, seconds: float, output: Path) -> None:
    """Time tvm-qnn and ONNX Runtime on a transformer with weights from a seed."""
    console = terminal()
    sizes = replace(
        SMALL, layers=layers, width=width, heads=width // _DEPTH, inner=4 * width, tokens=tokens
    )
    model = network(sizes)
    rows = []
    # This imports ONNX Runtime, which would choose other kernels if it found a single core, so it
    # comes first.
    forms = _forms(model, sizes)
    with one_core():
        for name, quantized in forms:
            ours, theirs = _here(quantized, sizes), _there(quantized, sizes)
            difference = np.abs(ours() - theirs()).max()
            times = alternate({"ours": ours, "theirs": theirs}, rounds, seconds)
            medians = [times[key].median for key in ("ours", "theirs")]
            ratio = f"{medians[0] / medians[1]:.2f}"
            rows.append([name, *map(milliseconds, medians), ratio, f"{difference:.2g}"])
    console.print(as_table(_HEADER, rows, f"{layers} layers of {width}, {tokens} tokens"))
    output.mkdir(parents=True, exist_ok=True)
    told = setting_lines(setting(["onnx", "onnxruntime"]), 1)
    write_text(output / "transformer.md", markdown(told, markdown_table(_HEADER, rows)))


def _forms(model: Any, sizes: Sizes) -> list[tuple[str, Any]]:
    return [
        ("when it runs", dynamic(model)),
        ("when it runs, by channel", dynamic(model, per_channel=True)),
        ("before, uint8", static(model, sizes)),
    ]


def _here(model: Any, sizes: Sizes) -> Callable[[], Any]:
    data = sentence(sizes, 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # both leave the same operators in float
        mod, params = qnn.from_onnx(model, {name: each.shape for name, each in data.items()})
        library = qnn.build(mod, "host", params, num_threads=1)

    def run() -> Any:
        result = library.run(*data.values())
        return next(iter(result.values())) if isinstance(result, dict) else result

    return run


def _there(model: Any, sizes: Sizes) -> Callable[[], Any]:
    import onnxruntime

    data = sentence(sizes, 1)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    providers = ["CPUExecutionProvider"]
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers)
    return lambda: session.run(None, data)[0]


if __name__ == "__main__":
    main()
