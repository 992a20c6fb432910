"""What other systems lack, taken away from this one: nothing of the project asks for it."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tests.support.linking import needs_linker

ROOT = Path(__file__).resolve().parents[1]

# A process in which neither modules of POSIX are imported by the project, nor functions are there
# that Windows does not have. What others (numpy, TVM, the standard library) import is theirs. Left
# are functions that the project calls where sys.platform is "linux", as mypy checks.
WITHOUT_POSIX = """
import builtins, importlib, os, pkgutil, sys

OURS = ("qnn_ops", "legalize", "frontends", "tvm_qnn")
POSIX = {"fcntl", "grp", "posix", "pty", "pwd", "readline", "resource", "syslog", "termios", "tty"}
LACKING = (
    "O_DIRECTORY O_NOFOLLOW fchmod fork forkpty getloadavg getuid geteuid getgid getpgid killpg "
    "mkfifo pread pwrite register_at_fork setsid statvfs sysconf"
).split()

importing = builtins.__import__

def without(name, globals=None, locals=None, fromlist=(), level=0):
    importer = str((globals or {}).get("__name__"))
    if level == 0 and name in POSIX and importer.partition(".")[0] in OURS:
        raise ModuleNotFoundError(f"{importer} imports {name}")
    return importing(name, globals, locals, fromlist, level)

import tvm, numpy, multiprocessing, concurrent.futures.process, subprocess
from unittest import mock
builtins.__import__ = without
sys.platform, before = "win32", sys.platform
import tvm_qnn.io.outputs  # as Windows has it
sys.platform = before
for name in LACKING:
    mock.patch.object(os, name, create=True).start()
    delattr(os, name)
"""

# What needs packages that are not installed, each for itself.
EVERY_MODULE = """
lacking = set()
for package in OURS:
    for found in pkgutil.walk_packages(importlib.import_module(package).__path__, package + "."):
        if found.name in ("tvm_qnn.__main__", "tvm_qnn.io.locked_folders"):
            continue
        try:
            importlib.import_module(found.name)
        except ModuleNotFoundError as error:
            assert error.name and error.name.partition(".")[0] in (
                "mlserver", "ray", "torch", "fastapi", "grpc"
            ), (found.name, str(error))
            lacking.add(found.name)
count = sum(name.partition(".")[0] in OURS for name in sys.modules)
assert "tvm_qnn.io.locked_folders" not in sys.modules
print(count, len(lacking))
"""

A_LIBRARY = """
import numpy, pathlib
from tvm_qnn import build, digits, from_tflite, load
path = pathlib.Path(sys.argv[1]) / "m.so"
mod, params = from_tflite(digits.model("int8"))
library = build(mod, "host", params)
images = digits.to_input(digits.held_out()[0][:3], "int8")[:, None]
def answers(library):
    return [library.run(image).tolist() for image in images]
for _ in range(2):
    library.export(path)
with load(path, num_threads=2) as loaded:
    assert answers(loaded) == answers(library)
print(sorted(each.name for each in path.parent.iterdir()))
"""


def without_posix(code: str, *arguments: str) -> str:
    line = [sys.executable, "-W", "ignore", "-c", WITHOUT_POSIX + code, *arguments]
    # It takes the folders of other processes, which have no claims, for those of killed ones.
    with tempfile.TemporaryDirectory() as own:
        env = {**os.environ, "TMPDIR": own}
        done = subprocess.run(line, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_module_is_imported_without_posix() -> None:
    count, lacking = map(int, without_posix(EVERY_MODULE).split())
    assert count > 600
    assert lacking < 10


@needs_linker
def test_libraries_are_written_and_run_without_posix(tmp_path: Path) -> None:
    assert without_posix(A_LIBRARY, str(tmp_path)).splitlines()[-1] == "['m.so']"


def test_what_imports_posix_is_found() -> None:
    code = "exec('import fcntl', {'__name__': 'tvm_qnn.io.x'})"
    with pytest.raises(AssertionError, match=r"tvm_qnn\.io\.x imports fcntl"):
        without_posix(code)
