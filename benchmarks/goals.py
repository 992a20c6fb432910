"""The goals of the benchmarks' ratios, which stand beside them in the tables.

A ratio is a time of tvm-qnn divided by another time, and its goal is the highest that it should be.
A share is a speed divided by the processor's peak, and its goal is the lowest.
"""

PEERS = {"float32": {"onnxruntime": 1.0, "litert": 0.8}}
"""The time of a network divided by another program's, by the network's style and the program."""

TWO_THREADS = 0.55
"""A network on two threads beside one thread."""

PICTURES = 0.6
"""A picture of a batch of ``BATCH`` pictures beside OpenVINO's, which chooses its streams."""

BATCH = 8
"""The number of pictures in such a batch."""

TOKEN, PROMPT, ROW = 0.75, 0.5, 0.75
"""A token, a prompt, and one row by weights of few bits, each beside ONNX Runtime."""

COPY = 1 / 0.85
"""One row by weights of few bits beside a copy of the weights."""

SHARE_OF_TILES = 0.6
"""A network with AMX: its operations beside the peak of ``tdpbusd``."""

COLD, WARM = 1.5, 0.3
"""A build beside OpenVINO's, with an empty cache and a full one."""


def beside(value: float, goal: float | None = None) -> str:
    """Return the text of a ratio or share and its goal, if there is one, for a table."""
    text = f"{value:.2g}" if value < 0.1 else f"{value:.2f}"
    return text if goal is None else f"{text} (goal {goal:.2f})"
