"""Where data come from: each form of them has its reader."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from qnn_ops.errors import QnnError
from tvm_qnn.evaluate.samples import Classes, Data
from tvm_qnn.evaluate.sources.archives import read_npz
from tvm_qnn.evaluate.sources.coco import read_coco
from tvm_qnn.evaluate.sources.pictures import is_masked, read_folder, read_masked
from tvm_qnn.evaluate.sources.tables import read_csv, read_json_lines

_READERS: dict[str, Callable[[Path, Classes], Data]] = {
    ".csv": read_csv,
    ".jsonl": read_json_lines,
    ".ndjson": read_json_lines,
    ".npz": read_npz,
    ".json": read_coco,
}


def read_data(path: Path, classes: Classes) -> Data:
    """Read what a model is evaluated on.

    Args:
        path: a folder, or a file whose ending tells its form.
        classes: the model's.

    Raises:
        QnnError: for what is wrong, with file and line.
    """
    if path.is_dir():
        data = (read_masked if is_masked(path) else read_folder)(path, classes)
    elif path.suffix.lower() in _READERS:
        data = _READERS[path.suffix.lower()](path, classes)
    else:
        endings = ", ".join(_READERS)
        raise QnnError(f"{path} is no data: a folder, or a file ending in {endings}, is needed")
    if not data.samples:
        raise QnnError(f"{path} has no samples")
    return data
