"""What commands write: JSON, and files whose paths are checked before the work, not after it."""

import os
import tempfile
from pathlib import Path
from typing import Any

import click

from tvm_qnn.io.text import to_json

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
"""Adds --json, for programs that read the output."""


def print_json(value: Any) -> None:
    """Print plain Python values as JSON; numbers that are not finite become null."""
    click.echo(to_json(value, indent=2))


def check_file(path: Path) -> None:
    """Check that a file can be written to a path, as far as possible without writing it.

    Raises:
        QnnError: if it cannot.
    """
    from qnn_ops.errors import QnnError

    if path == Path("-"):
        raise QnnError("cannot write -: the standard output takes no file; name one")
    if not path.parent.is_dir():
        raise QnnError(f"cannot write {path}: there is no folder {path.parent}")
    if path.is_dir():
        raise QnnError(f"cannot write {path}: it is a folder")
    if path.exists() and not os.access(path, os.W_OK):
        raise QnnError(f"cannot write {path}: it is read-only")
    if path.is_file() or not path.exists():  # a device is neither
        _check_takes_files(path, path.parent)


def check_folder(path: Path) -> None:
    """Check that files can be written to a folder, which may not exist yet.

    Raises:
        QnnError: if they cannot.
    """
    from qnn_ops.errors import QnnError

    if path == Path("-"):
        raise QnnError("cannot write -: the standard output is no folder; name one")
    there = next((each for each in (path, *path.parents) if each.exists()), Path())
    if not there.is_dir():
        raise QnnError(f"cannot write {path}: {there} is a file, not a folder")
    _check_takes_files(path, there)


def _check_takes_files(path: Path, folder: Path) -> None:
    from qnn_ops.errors import QnnError

    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        reason = error.strerror or error
        raise QnnError(f"cannot write {path}: no file can be made in {folder}: {reason}") from error
