"""The model formats: their interface, and the choice of a model's format.

A format is a folder beside this file. Its module ``format`` has ``FORMAT``, an object of a class
that implements ``Format``; importing it must not import TVM, which takes a second.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

if TYPE_CHECKING:
    import numpy as np

    from frontends.builder import Imported
    from frontends.summary import Descriptions, Summary
    from qnn_ops.errors import QnnError

    Array = np.ndarray[Any, Any]

FOLDERS = ("tflite", "mxnet", "onnx", "torch")
"""The folders of the formats."""

Shapes = Mapping[str, Any]
"""The sizes of inputs by name: numbers, or names and ranges if a format takes them."""

_HEAD = 4096  # bytes of a file, which tell its format


class Source(Protocol):
    """A model that has been read and checked: the format's typed graph."""

    def convert(self, shapes: Shapes | None = None) -> Imported:
        """Import it.

        Args:
            shapes: of inputs by name, if they differ from the file's.

        Raises:
            UnsupportedOperatorError: it has operators without a conversion; names them all.
            QnnError: the shapes do not fit, or an operator does not fit its tensors.
        """

    def summary(self, name: str, shapes: Shapes | None = None) -> Summary:
        """Describe it; operators that cannot be imported are part of the answer.

        Args:
            name: the model's name in the summary.
            shapes: as for ``convert``.

        Raises:
            QnnError: the shapes do not fit.
        """

    def constants(self) -> Mapping[int, Array]:
        """Return the file's values of tensors, by the indices that ``summary`` gives them."""

    def descriptions(self) -> Descriptions:
        """Return the file's descriptions of inputs and outputs, which a run does not need."""
        from frontends.summary import Descriptions

        return Descriptions()


class Format(Protocol):
    """A model format.

    Attributes:
        name: its common name.
        suffixes: of its files, in lower case.
        has_params: whether files of parameters lie beside its model files.
        has_signatures: whether a file may hold several models, each under a name.
        semantics: the names of the meanings that a model may have, if there is a choice; the first
            one is the default.
        source: the name of its ``Source`` in the module ``source`` beside it. This class takes the
            model and, by name, ``params`` and ``semantics`` if the format has them.
    """

    name: ClassVar[str]
    suffixes: ClassVar[tuple[str, ...]]
    has_params: ClassVar[bool] = False
    has_signatures: ClassVar[bool] = False
    semantics: ClassVar[tuple[str, ...]] = ()
    source: ClassVar[str]

    def recognises(self, model: Any) -> bool:
        """Tell whether a model has this format: a file's first bytes, or an object in memory."""

    def of_signature(self, model: Any, name: str) -> bytes:
        """Return a file with only one of a file's models.

        Raises:
            ModelFormatError: the file is damaged.
            QnnError: it has no such signature, or its format does not have ``has_signatures``.
            OSError: the file cannot be read.
        """
        del model, name
        raise _not_for(self, "signature", [one for one in formats() if one.has_signatures])

    def read(self, model: Any, params: Any, semantics: str | None) -> Source:
        """Read a model.

        Args:
            model: a path, a file's contents, or an object in memory that the format recognises.
            params: the path of its parameters, if the format ``has_params``; None for the file
                beside the model.
            semantics: one of ``semantics``, or None.

        Raises:
            ModelFormatError: a file is damaged.
            QnnError: there are no parameters, or it has no such semantics.
            OSError: a file cannot be read.
        """
        given = {"params": params} if self.has_params else {}
        if self.semantics:
            given["semantics"] = semantics or self.semantics[0]
        module = import_module(f"{type(self).__module__.rpartition('.')[0]}.source")
        found: Source = getattr(module, self.source)(model, **given)
        return found


@cache
def formats() -> tuple[Format, ...]:
    """Return every format."""
    return tuple(import_module(f"frontends.{folder}.format").FORMAT for folder in FOLDERS)


def format_of(model: Any, params: Any = None, semantics: str | None = None) -> Format:
    """Return the format of a model: by its content, or otherwise by the ending of its name.

    Args:
        model: a path, a file's contents, or an object in memory.
        params: the argument of ``Format.read``.
        semantics: the argument of ``Format.read``.

    Raises:
        QnnError: its format is unknown, or does not take the given arguments.
        OSError: the file cannot be read.
    """
    is_path = isinstance(model, str | os.PathLike)
    head = _head(model)
    found = next((one for one in formats() if one.recognises(head)), None)
    if found is None and is_path:
        suffix = Path(model).suffix.lower()
        found = next((one for one in formats() if suffix in one.suffixes), None)
    if found is None:
        from qnn_ops.errors import QnnError

        what = os.fspath(model) if is_path else f"an object of type {type(model).__name__}"
        endings = ", ".join(f"{' or '.join(one.suffixes)} for {one.name}" for one in formats())
        raise QnnError(f"{what} is no model of a known format, which are {endings}")
    if params is not None and not found.has_params:
        raise _not_for(found, "params", [one for one in formats() if one.has_params])
    if semantics is not None and not found.semantics:
        raise _not_for(found, "semantics", [one for one in formats() if one.semantics])
    return found


def read_model(model: Any, params: Any = None, semantics: str | None = None) -> Source:
    """Read a model of any format; see ``format_of`` and ``Format.read``."""
    return format_of(model, params, semantics).read(model, params, semantics)


def of_signature(model: Any, name: str) -> bytes:
    """Return a file with only one of a file's models; see ``Format.of_signature``."""
    return format_of(model).of_signature(model, name)


def _head(model: Any) -> Any:
    """Return the first bytes of a file or its contents; any other object unchanged."""
    if isinstance(model, str | os.PathLike):
        with open(model, "rb") as file:
            return file.read(_HEAD)
    return bytes(model[:_HEAD]) if isinstance(model, bytes | bytearray | memoryview) else model


def _not_for(found: Format, option: str, takers: Sequence[Format]) -> QnnError:
    from qnn_ops.errors import QnnError

    names = " and ".join(one.name for one in takers)
    return QnnError(f"--{option} is for {names} models: this one is of {found.name}")
