"""Times programs before and after a change of one line: the package that they import.

python -m benchmarks.bench_one_line                        # MobileNet V2 in TFLite and in ONNX
python -m benchmarks.bench_one_line my_model.tflite onnx/mobilenet_v2:u8s8 my_program.pt2

torch.compile compiles a .pt2 file; its table also has PyTorch itself, as "eager". A start takes
place in a new process, from the import to a ready model that was compiled before. A call runs the
model on zeros. The table also has ``Library.run`` of tvm_qnn itself: the difference is the cost
that a package adds. The programs run in turn, and the table has medians.
"""

import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import click

from benchmarks.models import models, suffix_of
from benchmarks.report import markdown_table

DEFAULT = ("mobilenet_v2:int8_per_axis", "onnx/mobilenet_v2:u8s8")

_TFLITE = """
from {module} import Interpreter
model = Interpreter(model_path=path, num_threads=1)
model.allocate_tensors()
(given,), results = model.get_input_details(), model.get_output_details()
array = np.zeros(given["shape"], given["dtype"])

def call():
    model.set_tensor(given["index"], array)
    model.invoke()
    return model.get_tensor(results[0]["index"])
"""

_ONNX = """
from {module} import InferenceSession, SessionOptions
options = SessionOptions()
options.intra_op_num_threads = 1
model = InferenceSession(path, options)
(given,) = model.get_inputs()
dtype = {{"tensor(float)": "float32"}}.get(given.type, given.type[7:-1])
feeds = {{given.name: np.zeros(given.shape, dtype)}}

def call():
    return model.run(None, feeds)
"""

_TORCH = """
import torch
import torch.ao.quantization.fx._decomposed  # the operators of PT2E
torch.set_num_threads(1)
program = torch.export.load(path)
given = [torch.zeros_like(each) for each in program.example_inputs[0]]
options = {{"options": {{"num_threads": 1}}}} if "{module}" == "tvm_qnn" else {{}}
model = torch.compile(program.module(), backend="{module}", **options)

def call():
    with torch.no_grad():
        return model(*given)

call()
"""

_OWN = """
import {module} as qnn
importers = {{"onnx": qnn.from_onnx, "pt2": qnn.from_exported_program}}
mod, params = importers.get(path.rsplit(".")[-1], qnn.from_tflite)(path)
library = qnn.build(mod, "host", params, num_threads=1)
arrays = [np.zeros(info.shape, info.dtype) for info in library.inputs]

def call():
    return library.run(*arrays)
"""

_PROGRAM = """
import sys, time
start, path = time.perf_counter(), sys.argv[1]
import numpy as np
{uses}
ready = time.perf_counter() - start
times = []
for _ in range({calls}):
    start = time.perf_counter()
    call()
    times.append(time.perf_counter() - start)
print(ready, sorted(times)[len(times) // 2])
"""

PROGRAMS = {
    ".tflite": (_TFLITE, ("tvm_qnn.litert", "ai_edge_litert.interpreter")),
    ".onnx": (_ONNX, ("tvm_qnn.onnxruntime", "onnxruntime")),
    ".pt2": (_TORCH, ("tvm_qnn", "eager")),
}
"""By the suffix of a model's file: the program's text, and the packages that it may import."""


def timed(program: str, path: Path) -> tuple[float, float]:
    """Return the seconds of a start and of a call, in a new process."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program, str(path)],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise click.ClickException(f"{path.name}: {done.stderr.strip().splitlines()[-1]}")
    start, call = map(float, done.stdout.split())
    return start, call


@click.command()
@click.argument("arguments", metavar="[MODEL]...", nargs=-1)
@click.option("--repeat", default=5, show_default=True, type=click.IntRange(min=1))
@click.option("--calls", default=50, show_default=True, type=click.IntRange(min=1))
def main(arguments: tuple[str, ...], repeat: int, calls: int) -> None:
    """Time starts and calls on each MODEL, a file or a network of the zoo."""
    rows = []
    for name, model in models(arguments or DEFAULT):
        uses, packages = PROGRAMS[suffix_of(model)]
        programs = [*((package, uses) for package in packages), ("tvm_qnn", _OWN)]
        texts = [
            _PROGRAM.format(uses=text.format(module=module), calls=calls)
            for module, text in programs
        ]
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"model{suffix_of(model)}"
            path.write_bytes(model)
            timed(texts[0], path)  # compiles the model
            runs = [[timed(text, path) for text in texts] for _ in range(repeat)]
        names = [*packages, "Library.run"]
        for package, found in zip(names, zip(*runs, strict=True), strict=True):
            start, call = (statistics.median(each[i] for each in found) for i in (0, 1))
            rows.append([name, package, f"{start:.2f}", f"{call * 1e3:.3f}"])
    click.echo(markdown_table(["model", "package", "start, s", "call, ms"], rows))


if __name__ == "__main__":
    main()
