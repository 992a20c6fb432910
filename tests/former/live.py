"""Compares random calls of quantized operators with the results of TVM's own Relay.

python -m tests.former.live PROGRAM --count 1000

PROGRAM starts a Python that has TVM's Relay, of version 0.17 or near it: an interpreter, or a
script that sets what the interpreter needs and passes its arguments on.
"""

import subprocess
import tempfile
from collections import Counter
from pathlib import Path

import click
import numpy as np

from tests.former import calls
from tvm_qnn import relay
from tvm_qnn.relay import tvm


@click.command()
@click.argument("program", type=click.Path(exists=True, dir_okay=False))
@click.option("--count", default=1000, show_default=True, type=click.IntRange(min=1))
@click.option("--first", default=0, show_default=True, help="The first seed.")
def main(program: str, count: int, first: int) -> None:
    """Compare calls with the Relay of a PROGRAM, and print how many differ by kind."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "results.npz"
        script = [str(Path(calls.__file__).resolve()), str(first), str(count), str(file)]
        subprocess.run([program, *script], check=True, cwd=folder, capture_output=True)
        with np.load(file) as results:
            wanted = {seed: results[seed] for seed in results.files}
    seeds = [seed for seed in wanted if f"{seed}.exact" in wanted]
    exact = {seed: wanted.pop(f"{seed}.exact") for seed in seeds}
    ours = calls.results(tvm, relay, map(int, wanted))
    if exact:
        for name, results in (("tvm_qnn.relay", ours), ("Relay", wanted)):
            error = max(float(np.abs(results[seed] - exact[seed]).max()) for seed in exact)
            print(f"softmax of {name}: at most {error:.2f} steps from the real numbers")
    equal, different = Counter[str](), Counter[str]()
    for seed, expected in wanted.items():
        if seed in exact:
            continue
        kind = calls.KINDS[int(seed) % len(calls.KINDS)].__name__
        same = is_same(ours[seed], expected)
        (equal if same else different)[kind] += 1
        if not same:
            print(f"{kind}, seed {seed}: {described(ours[seed])}, Relay: {described(expected)}")
    print("| operator | equal | different |\n|---|---:|---:|")
    for kind in sorted({*equal, *different}):
        print(f"| {kind} | {equal[kind]} | {different[kind]} |")
    raise SystemExit(int(bool(different)))


def is_same(result: np.ndarray, expected: np.ndarray) -> bool:
    """Tell whether two results have the same shape, dtype and bits; NaN is equal to NaN."""
    if (result.shape, result.dtype) != (expected.shape, expected.dtype):
        return False
    return np.array_equal(result, expected, equal_nan=expected.dtype.kind == "f")


def described(result: np.ndarray) -> str:
    """Return the text of an error, or the beginning of an array."""
    return str(result) if result.dtype.kind == "U" else f"{result.dtype} {result.ravel()[:8]}"


if __name__ == "__main__":
    main()
