"""Runs a model with LiteRT, with a mark before and after each run; started by ``peer.py``.

python litert.py MODEL RESOLVER RUNS OUTPUTS.npz INPUT...

An emulated Python runs this file, so it uses nothing else of this project.
"""

import ctypes
import sys

import numpy as np
from ai_edge_litert.interpreter import Interpreter, OpResolverType

_GETPRIORITY = 141  # the system call's number on aarch64
_SYSCALL = ctypes.CDLL(None).syscall


def mark(number: int) -> None:
    """Make a system call that tells count.c where a run begins or ends."""
    _SYSCALL(*map(ctypes.c_long, (_GETPRIORITY, 0x716E6E00, number)))


def main(model: str, resolver: str, runs: str, outputs: str, *files: str) -> None:
    """Run the model on the inputs in files, and save its outputs, in order."""
    interpreter = Interpreter(
        model_path=model, num_threads=1, experimental_op_resolver_type=OpResolverType[resolver]
    )
    interpreter.allocate_tensors()
    for about, file in zip(interpreter.get_input_details(), files, strict=True):
        interpreter.set_tensor(
            about["index"], np.fromfile(file, about["dtype"]).reshape(about["shape"])
        )
    for run in range(int(runs)):
        mark(2 * run)
        interpreter.invoke()
        mark(2 * run + 1)
    np.savez(
        outputs, *(interpreter.get_tensor(one["index"]) for one in interpreter.get_output_details())
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
