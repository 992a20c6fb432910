"""Measures the memory that a library takes, by the growth of a separate process.

`python -m tvm_qnn.throughput.memory FILE` runs this process.
"""

import re
import subprocess
import sys
from pathlib import Path

from qnn_ops.errors import QnnError
from tvm_qnn.io.images import noise
from tvm_qnn.library import runtime
from tvm_qnn.library.library import load

_RUNS = 2  # from the second run on, nothing more is allocated

_STATUS, _PEAK = Path("/proc/self/status"), Path("/proc/self/clear_refs")
_BEGIN_ANEW = "5"  # the text by which Linux resets the peak


def memory_of(file: Path) -> int:
    """Return by how many bytes, at most, a process grows that loads a library and runs it.

    It uses one thread. The runtime's own memory does not count.

    Args:
        file: the library's file.

    Raises:
        QnnError: if the system does not report it, or the process fails.
    """
    if not _PEAK.exists():
        raise QnnError("only Linux tells the most memory that a process took for a while")
    line = [sys.executable, "-m", "tvm_qnn.throughput.memory", str(file)]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    if done.returncode:
        said = (done.stderr.strip().splitlines() or [f"it ended with {done.returncode}"])[-1]
        raise QnnError(said.removeprefix("qnn_ops.errors.QnnError: "))
    return int(done.stdout)


def _kilobytes(name: str) -> int:
    """Return one of Linux's figures about this process."""
    found = re.search(rf"^{name}:\s*(\d+) kB$", _STATUS.read_text(encoding="ascii"), re.MULTILINE)
    if found is None:
        raise QnnError(f"this system does not tell {name}")
    return int(found[1])


def main(file: str) -> None:
    """Load the library, run it, and print the bytes."""
    runtime.load_runtime()
    _PEAK.write_text(_BEGIN_ANEW, encoding="ascii")
    before = _kilobytes("VmRSS")
    library = load(file, num_threads=1)
    run = library.prepare(*(noise(info) for info in library.inputs))
    for _ in range(_RUNS):
        run()
    print((_kilobytes("VmHWM") - before) << 10)


if __name__ == "__main__":
    main(*sys.argv[1:])
