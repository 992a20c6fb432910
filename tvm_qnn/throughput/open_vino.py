"""OpenVINO's streams, as its hint for throughput chooses them.

`python -m tvm_qnn.throughput.open_vino MODEL BATCH THREADS` runs the process with them.
"""

import sys
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from qnn_ops.errors import QnnError
from tvm_qnn.throughput.processes import Processes, serve
from tvm_qnn.throughput.rates import Streams

OPENVINO = "OpenVINO (THROUGHPUT)"


def start_open_vino(model: Path, batch: int, threads: int) -> Streams:
    """Start OpenVINO on noise.

    Args:
        model: the .tflite file.
        batch: the images of a run.
        threads: the number of threads; OpenVINO chooses the best number of streams for them.

    Raises:
        QnnError: if OpenVINO is not installed, or rejects the model or the batch.
    """
    if find_spec("openvino") is None:
        raise QnnError("the package openvino is not installed")
    return Processes("tvm_qnn.throughput.open_vino", [model, batch, threads], 1)


def main(model: str, batch: str, threads: str) -> None:
    """Run the process."""
    import openvino

    core = openvino.Core()
    network = core.read_model(model)
    if int(batch) > 1:
        shapes = {port: [int(batch), *list(port.shape)[1:]] for port in network.inputs}
        network.reshape(shapes)
    settings = {"PERFORMANCE_HINT": "THROUGHPUT", "INFERENCE_NUM_THREADS": int(threads)}
    compiled = core.compile_model(network, "CPU", settings)
    queue = openvino.AsyncInferQueue(compiled)  # OpenVINO chooses the number of requests
    random = np.random.default_rng(0)
    for request in queue:
        for port in compiled.inputs:
            noise = random.integers(0, 128, tuple(port.shape)).astype(port.element_type.to_dtype())
            request.set_tensor(port, openvino.Tensor(noise))
    serve(lambda seconds: _runs_per_second(queue, seconds))


def _runs_per_second(queue: Any, seconds: float) -> float:
    """Keep all requests busy for some seconds; return the runs in a second."""
    for _ in queue:
        queue.start_async()
    queue.wait_all()
    runs = 0
    start = time.perf_counter()
    while time.perf_counter() - start < seconds or not runs:
        queue.start_async()
        runs += 1
    queue.wait_all()
    return runs / (time.perf_counter() - start)


if __name__ == "__main__":
    main(*sys.argv[1:])
