"""LiteRT's streams: processes, each with an interpreter of one thread.

`python -m tvm_qnn.throughput.litert MODEL BATCH` runs one of these processes.
"""

import sys
from functools import partial
from pathlib import Path

from tvm_qnn.io.images import noise
from tvm_qnn.oracle import LiteRtSession, check_litert
from tvm_qnn.throughput.processes import Processes, serve
from tvm_qnn.throughput.rates import WARMUP, Streams, rate


def start_litert(model: Path, batch: int, streams: int) -> Streams:
    """Start LiteRT on noise.

    Args:
        model: the .tflite file.
        batch: the images of a run.
        streams: the number of processes.

    Raises:
        QnnError: if LiteRT is not installed, or rejects the model or the batch.
    """
    check_litert()
    return Processes("tvm_qnn.throughput.litert", [model, batch], streams)


def main(model: str, batch: str) -> None:
    """Run one of the processes."""
    session = LiteRtSession(Path(model).read_bytes(), batch=int(batch))
    run = session.prepare([noise(info) for info in session.inputs])
    for _ in range(WARMUP):
        run()
    serve(partial(rate, run))


if __name__ == "__main__":
    main(*sys.argv[1:])
