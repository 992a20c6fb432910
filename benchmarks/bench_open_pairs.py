"""Times one build of a transformer for any batch and length, in turn with ONNX Runtime.

Batches and lengths are random. Some are also compared with a build for them, bit for bit::

    python -m benchmarks.bench_open_pairs
    python -m benchmarks.bench_open_pairs --pairs 20 --fixed 2 --layers 1
"""

import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import click
import numpy as np
import tvm
from tvm import relax

import tvm_qnn as qnn
from benchmarks.report import as_table, terminal
from benchmarks.transformer import Sizes, dynamic, network
from qnn_ops.dialect.signature import ATTRIBUTE
from tvm_qnn.timing import alternate, milliseconds, one_core

Array = np.ndarray[Any, Any]

_BATCHES, _LENGTHS, _HEADER = 8, 512, ["ratio to", "pairs", "10 %", "median", "90 %", "largest"]


@click.command()
@click.option("--pairs", default=200, show_default=True, type=click.IntRange(min=1))
@click.option("--fixed", "compared", default=40, show_default=True, help="Pairs that get a build.")
@click.option("--layers", default=2, show_default=True, type=click.IntRange(min=1))
@click.option("--width", default=256, show_default=True, type=click.IntRange(min=64))
@click.option("--rounds", default=10, show_default=True, type=click.IntRange(min=1))
def main(pairs: int, compared: int, layers: int, width: int, rounds: int) -> None:
    """Compare and time batches of 1 to 8 and lengths of 1 to 512, by the processor's time."""
    warnings.simplefilter("ignore")  # both leave the same operators in float
    console, rng = terminal(), np.random.default_rng(0)
    sizes = Sizes(layers, width, width // 64, 4 * width, 1000, _LENGTHS)
    model = dynamic(network(sizes, of_any_length=True))
    ranges = {"batch": range(1, _BATCHES + 1), "length": range(1, _LENGTHS + 1)}
    mod, params = qnn.from_onnx(model, ranges)
    session, opened = _session(model), qnn.build(mod, "host", params, num_threads=1)
    ratios: dict[str, list[float]] = {"ONNX Runtime": [], "a build for the size": []}
    largest = 0.0
    for number in range(pairs):
        shape = tuple(int(rng.integers(1, most + 1)) for most in (_BATCHES, _LENGTHS))
        data = {
            "tokens": rng.integers(0, sizes.words, shape),
            "mask": np.ones(shape, np.int64),
        }
        arrays = [data[info.name] for info in opened.inputs]
        result = opened.run(*arrays)
        expected = session.run(None, data)[0]
        largest = max(largest, float(np.abs(result - expected).max()))
        functions: dict[str, Callable[[], Any]] = {
            "open": opened.prepare(*arrays),
            "ONNX Runtime": partial(session.run, None, data),
        }
        if number < compared:
            names = dict(zip(ranges, shape, strict=True))
            known = qnn.build(_bound(mod, names), "host", params, num_threads=1, cache=False)
            if not np.array_equal(known.run(*arrays), result):
                raise click.ClickException(f"the results for {names} differ")
            functions["a build for the size"] = known.prepare(*arrays)
        with one_core():
            times = alternate(functions, rounds, 5.0, clock=time.process_time)
        own = times.pop("open").minimum
        for name, taken in times.items():
            ratios[name].append(own / taken.minimum)
        if number == 0:
            console.print(f"{shape}: {milliseconds(own)} ms")
    rows = [
        [name, str(len(each)), *(f"{np.quantile(each, part):.2f}" for part in (0.1, 0.5, 0.9, 1))]
        for name, each in ratios.items()
        if each
    ]
    console.print(as_table(_HEADER, rows, f"{layers} layers of {width}, quantized when they run"))
    console.print(f"largest difference from ONNX Runtime: {largest:.2g}")


def _bound(mod: tvm.IRModule, sizes: dict[str, int]) -> tvm.IRModule:
    """Return a model of open sizes as one of known sizes."""
    main = mod["main"].without_attr(ATTRIBUTE)  # the attribute names the open sizes
    mod = tvm.IRModule({**dict(mod.functions_items()), mod.get_global_var("main"): main})
    return relax.transform.BindSymbolicVars(sizes, "main")(mod)


def _session(model: Any) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    providers = ["CPUExecutionProvider"]
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers)


if __name__ == "__main__":
    main()
