"""Runs other programs."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

from qnn_ops.errors import QnnError


def call(words: Sequence[str | Path]) -> str:
    """Run a command and return its output.

    Raises:
        QnnError: if it fails; the message has the command's output.
    """
    line = [str(word) for word in words]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    if done.returncode:
        said = (done.stderr or done.stdout).strip()
        raise QnnError(f"{Path(line[0]).name} failed ({done.returncode}): {said}")
    return done.stdout
