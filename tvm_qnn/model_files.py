"""Model files of every framework, by their endings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qnn_ops.errors import QnnError

if TYPE_CHECKING:
    import tvm

LIBRARY = ".so"
TFLITE = ".tflite"
MXNET = ".json"
"""How the names of MXNet's symbol files end."""

Shapes = Mapping[str, Sequence[int]]


def import_model(
    path: Path,
    params: Path | None = None,
    shapes: Shapes | None = None,
    semantics: str | None = None,
) -> tuple[tvm.IRModule, dict[str, Any]]:
    """Import a model file.

    Args:
        path: a .tflite file, or the .json file of an MXNet symbol.
        params: the .params file of an MXNet model; by default the one beside ``path`` that
            MXNet's own naming gives, net-0000.params for net-symbol.json.
        shapes: of inputs by name, where they are not the file's.
        semantics: of an MXNet model, as ``from_mxnet`` takes it; by default "mxnet".

    Raises:
        QnnError: if the ending is another one, ``params`` is missing, ``params`` or
            ``semantics`` do not belong there, or the model cannot be imported.
        OSError: if a file cannot be read.
    """
    check_model(path, params, semantics)
    if ending(path) == MXNET:
        from frontends.mxnet import from_mxnet

        return from_mxnet(
            path,
            dict(shapes or {}) or None,
            arg_params=params or params_beside(path),
            semantics=semantics or "mxnet",
        )
    from frontends.tflite import from_tflite

    return from_tflite(path, shapes)


def ending(path: Path) -> str:
    """How a file's name ends, in small letters: KWS.TFLITE is a model, too."""
    return path.suffix.lower()


def check_model(path: Path, params: Path | None, semantics: str | None) -> None:
    """Check that a model file has an ending that is known, and what is for MXNet only if it is.

    Raises:
        QnnError: if not.
    """
    if ending(path) not in (TFLITE, MXNET):
        raise QnnError(f"{path} is no model: its name must end in .tflite, or .json for MXNet")
    if ending(path) == TFLITE and params is not None:
        raise QnnError("--params is for MXNet models: a .tflite file has its own parameters")
    if ending(path) == TFLITE and semantics is not None:
        raise QnnError("--semantics is for MXNet models: a .tflite file has only one")


def check_tflite(path: Path) -> None:
    """Check that a model file is one of TFLite, by its ending.

    Raises:
        QnnError: if not.
    """
    if ending(path) != TFLITE:
        raise QnnError(f"{path} is not a .tflite file, which this command needs")


def params_beside(symbol: Path) -> Path:
    """The newest .params file that MXNet's naming puts beside a symbol's.

    Raises:
        QnnError: if there is none.
    """
    stem = symbol.stem.removesuffix("-symbol")
    found = sorted(symbol.parent.glob(f"{stem}-[0-9][0-9][0-9][0-9].params"))
    if not found:
        raise QnnError(f"there is no {stem}-0000.params beside {symbol}: name it with --params")
    return found[-1]
