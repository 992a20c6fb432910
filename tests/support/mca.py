"""llvm-mca, for tests that need it."""

import pytest

from benchmarks.loops.mca import find_mca
from qnn_ops.errors import QnnError


def mca() -> str:
    """Return the program; skip the test where it is not installed."""
    try:
        return find_mca()
    except QnnError as error:
        pytest.skip(str(error))
