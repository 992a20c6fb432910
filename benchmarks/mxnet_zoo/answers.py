"""MXNet's answers, on this processor or on an emulated one.

python -m benchmarks.mxnet_zoo.answers [--plain] prefix input.npy outputs.npz …
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import mxnet as mx
import numpy as np

from benchmarks.mxnet_zoo import plain

Array = np.ndarray[Any, Any]

_EMULATOR = "qemu-x86_64"
_PLAIN_PROCESSOR = "qemu64,-ssse3,-sse4.1,-sse4.2,-avx"
_PLAIN = "--plain"


def load(prefix: Path, shape: Sequence[int]) -> Callable[[Array], list[Array]]:
    """Return a saved model as a function from its input to its outputs."""
    module = mx.mod.Module(mx.sym.load(f"{prefix}-symbol.json"), ("data",), None)
    module.bind(for_training=False, data_shapes=[("data", tuple(shape))])
    module.load_params(f"{prefix}-0000.params")

    def run(data: Array) -> list[Array]:
        module.forward(mx.io.DataBatch([mx.nd.array(data)], []), is_train=False)
        return [output.asnumpy() for output in module.get_outputs()]

    return run


def exact_answers(jobs: Sequence[tuple[Path, Array]]) -> list[list[Array]]:
    """Compute, on any processor, the answers of MXNet on a processor with VNNI.

    If oneDNN finds none of the instructions that its kernels need, it runs its reference code,
    which neither saturates in 16 bits nor halves weights. This function makes another process run
    that code: by a setting of oneDNN if MXNet is a known build, otherwise in an emulator, which
    takes a hundred times as long.

    Args:
        jobs: models, by the prefix of their files, each with its input.

    Returns:
        The outputs of each model.

    Raises:
        FileNotFoundError: MXNet is no known build, and there is no emulator.
    """
    # The emulator needs the path of the program itself. Without -S, that program would look for
    # packages elsewhere.
    command = [os.path.realpath(sys.executable), "-S", "-m", "benchmarks.mxnet_zoo.answers"]
    if plain.is_known():
        command.append(_PLAIN)
    else:
        command = [*_emulator(), *command]
    with tempfile.TemporaryDirectory() as temporary:
        files = []
        for index, (prefix, data) in enumerate(jobs):
            source = Path(temporary) / f"{index}.npy"
            np.save(source, data)
            files += [prefix.resolve(), source, source.with_suffix(".npz")]
        subprocess.run(
            [*command, *files],
            check=True,
            # Threads that wait for each other would waste the emulator's time.
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "OMP_NUM_THREADS": "1"},
        )
        results = []
        for path in files[2::3]:
            with np.load(path) as outputs:
                results.append([outputs[name] for name in outputs.files])
        return results


def _emulator() -> list[str]:
    path = shutil.which(_EMULATOR)
    if path is None:
        raise FileNotFoundError(f"{_EMULATOR} is not there (Debian, Ubuntu: apt install qemu-user)")
    return [path, "-cpu", _PLAIN_PROCESSOR]


def main() -> None:
    """Run models on arrays: prefix, file of the input, file for the outputs, and so on."""
    arguments = sys.argv[1:]
    if arguments[0] == _PLAIN:
        plain.switch()
        del arguments[0]
    paths = [Path(argument) for argument in arguments]
    for prefix, source, target in zip(paths[::3], paths[1::3], paths[2::3], strict=True):
        data = np.load(source)
        outputs: dict[str, Any] = {
            f"output{index}": output for index, output in enumerate(load(prefix, data.shape)(data))
        }
        np.savez(target, **outputs)


if __name__ == "__main__":
    main()
