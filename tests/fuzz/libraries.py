"""Libraries that were changed and given a fitting digest.

A digest is no signature: such a file is loaded. What its description and its bytecode say is
checked then, and what TVM raises is one clear error. What is left can still end the process, as
the kernels are machine code that trusts its callers: this counts how often.

    python -m tests.fuzz.libraries --tries 1000
"""

import argparse
import hashlib
import os
import random
import signal
import struct
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np

import tvm_qnn
from qnn_ops.errors import QnnError
from tvm_qnn import digits
from tvm_qnn.library.package import read_package

_END = struct.Struct("<QQ32s8s")
_SECONDS = 20

RAN, REFUSED, RAISED = "ran", "QnnError", "another error"


def made(folder: Path) -> Path:
    """Return the library of a small network."""
    path = folder / "digits.so"
    mod, params = tvm_qnn.from_tflite(digits.model("int8"))
    tvm_qnn.build(mod, "host", params).export(path)
    return path


def changed(contents: bytes, bytecode: tuple[int, int], rng: random.Random) -> bytes:
    """A library with some bytes of its description or bytecode changed, and its digest anew."""
    data = bytearray(contents)
    offset, size, _, magic = _END.unpack(data[-_END.size :])
    start, length = rng.choice([bytecode, (offset, size)])
    for _ in range(rng.choice((1, 1, 2, 5))):
        place = start + rng.randrange(length)
        data[place] = rng.choice((data[place] ^ 1 << rng.randrange(8), rng.randrange(256), 0, 255))
    digest = hashlib.blake2b(data[: -_END.size], digest_size=32).digest()
    data[-_END.size :] = _END.pack(offset, size, digest, magic)
    return bytes(data)


def outcome(path: Path) -> str:
    """Load and run a library in a process of its own; how that ends."""
    child = os.fork()
    if not child:
        os._exit(_try(path))
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return signal.Signals(os.WTERMSIG(status)).name
    return {0: RAN, 1: REFUSED}.get(os.WEXITSTATUS(status), RAISED)


def _try(path: Path) -> int:
    signal.alarm(_SECONDS)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    try:
        library = tvm_qnn.load(path, num_threads=1)
        try:
            inputs = [np.zeros(info.shape, info.dtype) for info in library.inputs]
        except MemoryError:  # nobody has such an input
            return 1
        library.run(*inputs)
    except QnnError:
        return 1
    except BaseException:
        return 2
    return 0


def campaign(tries: int, seed: int) -> Counter[str]:
    """Count each outcome."""
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        path = made(Path(folder))
        (variant,) = read_package(path).variants
        contents = path.read_bytes()
        bytecode = contents.index(variant.bytecode), len(variant.bytecode)
        found: Counter[str] = Counter()
        for number in range(tries):
            other = Path(folder, f"changed{number}.so")
            other.write_bytes(changed(contents, bytecode, rng))
            found[outcome(other)] += 1
            other.unlink()
    return found


def main() -> None:
    """Run the campaign and print what was seen."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.libraries", description=__doc__)
    parser.add_argument("--tries", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    for name, count in campaign(arguments.tries, arguments.seed).most_common():
        print(f"{count:6} {name}")


if __name__ == "__main__":
    main()
