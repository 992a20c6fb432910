"""Programs that run in a Python process of their own."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def printed(code: str, *arguments: str, quiet: bool = False, **environment: str) -> str:
    """Run a program, which must end well, and return what it prints.

    Args:
        code: of the program, which imports from this checkout.
        *arguments: of the program.
        quiet: whether it must write nothing to its error stream.
        **environment: what is otherwise than here.
    """
    result = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    assert not quiet or result.stderr == ""
    return result.stdout


def printed_by_two(code: str) -> list[str]:
    """Run a program in two processes at a time, and return what each prints."""
    line = [sys.executable, "-c", code]
    running = [subprocess.Popen(line, cwd=ROOT, stdout=subprocess.PIPE) for _ in range(2)]
    return [process.communicate()[0].decode() for process in running]
