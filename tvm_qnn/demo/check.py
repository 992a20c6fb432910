"""Compiles a model, checks it against LiteRT tensor by tensor, and times both."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tvm_qnn.build import build
from tvm_qnn.compare import Comparison, compare
from tvm_qnn.io.progress import native_code_is_quiet, timed
from tvm_qnn.io.terminal import Terminal
from tvm_qnn.library.arrays import results_of
from tvm_qnn.library.library import Library
from tvm_qnn.oracle import LiteRtSession, litert_tensors
from tvm_qnn.target.target import host_target
from tvm_qnn.timing import LITERT, OURS, Timing, alternate, one_core


@dataclass(frozen=True)
class Checked:
    """The result of the check.

    Attributes:
        outputs: the model's outputs in order, from the library that was timed.
        comparison: all intermediate tensors and these outputs, compared with LiteRT's reference
            kernels.
        timings: the times of one thread, by program: OURS and LITERT.
    """

    outputs: list[np.ndarray]
    comparison: Comparison
    timings: dict[str, Timing]


def compile_here(console: Terminal, mod: Any, params: Mapping[str, Any]) -> Library:
    """Compile an imported model for this machine."""
    with timed(console, f"Compile for this machine ({host_target().attrs['mcpu']})"):
        return build(mod, "host", params)


def check_and_time(
    console: Terminal, model: bytes, library: Library, inputs: Sequence[np.ndarray]
) -> Checked:
    """Compare a compiled model with LiteRT's reference kernels, and time both programs.

    Args:
        console: where to show the progress.
        model: the contents of the .tflite file.
        library: the same model, compiled for this machine.
        inputs: one array for each of the model's inputs.
    """
    with timed(console, "Run LiteRT's reference kernels, keeping every tensor"):
        expected = litert_tensors(model, inputs)
    with timed(console, "Compile again with every tensor as an output, and compare them"):
        comparison = compare(model, inputs, "host", expected=expected, used=library)
    with native_code_is_quiet():
        session = LiteRtSession(model)
    with timed(console, "Time both on one thread, in turn"), one_core():
        timings = alternate({OURS: library.prepare(*inputs), LITERT: session.prepare(inputs)})
    return Checked(results_of(library.run(*inputs)), comparison, timings)
