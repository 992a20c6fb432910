"""What MXNet computes, on this processor or on one with other instructions.

python -m benchmarks.mxnet_zoo.answers prefix inputs.npz outputs.npz
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import mxnet as mx
import numpy as np

Array = np.ndarray[Any, Any]

# Where oneDNN finds none of the instructions that its kernels need, it runs its reference code,
# which neither saturates in 16 bits nor halves weights: the answers of a processor with VNNI.
_EMULATOR = "qemu-x86_64"
_PLAIN_PROCESSOR = "qemu64,-ssse3,-sse4.1,-sse4.2,-avx"


def load(prefix: Path, shape: Sequence[int]) -> Callable[[Array], Array]:
    """A saved model as a function from its input to its first output."""
    module = mx.mod.Module(mx.sym.load(f"{prefix}-symbol.json"), ("data",), None)
    module.bind(for_training=False, data_shapes=[("data", tuple(shape))])
    module.load_params(f"{prefix}-0000.params")

    def run(data: Array) -> Array:
        module.forward(mx.io.DataBatch([mx.nd.array(data)], []), is_train=False)
        return module.get_outputs()[0].asnumpy()

    return run


def emulated(prefix: Path, inputs: Sequence[Array], folder: Path) -> list[Array]:
    """What MXNet computes on a processor on which oneDNN has only its reference code.

    Args:
        prefix: of the model's files.
        inputs: what to run it with.
        folder: for files in between.

    Returns:
        The outputs.

    Raises:
        FileNotFoundError: the emulator is not installed.
    """
    emulator = shutil.which(_EMULATOR)
    if emulator is None:
        raise FileNotFoundError(f"{_EMULATOR} is not there (Debian, Ubuntu: apt install qemu-user)")
    arrays: dict[str, Any] = {str(index): array for index, array in enumerate(inputs)}
    np.savez(folder / "inputs.npz", **arrays)
    # The emulator wants the program itself, which without -S would look for packages elsewhere.
    python = [os.path.realpath(sys.executable), "-S", "-m", "benchmarks.mxnet_zoo.answers"]
    subprocess.run(
        [emulator, "-cpu", _PLAIN_PROCESSOR, *python, prefix, "inputs.npz", "outputs.npz"],
        check=True,
        cwd=folder,
        # Threads that wait for each other would spend the emulator's time.
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "OMP_NUM_THREADS": "1"},
    )
    with np.load(folder / "outputs.npz") as outputs:
        return [outputs[name] for name in outputs.files]


def main() -> None:
    """Runs a model on the arrays of a file, and writes what comes out to another."""
    prefix, source, target = map(Path, sys.argv[1:])
    with np.load(source) as file:
        inputs = [file[name] for name in file.files]
    run = load(prefix, inputs[0].shape)
    outputs: dict[str, Any] = {str(index): run(array) for index, array in enumerate(inputs)}
    np.savez(target, **outputs)


if __name__ == "__main__":
    main()
