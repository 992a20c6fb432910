"""The interface of the compared programs."""

import importlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from importlib import metadata, util
from pathlib import Path
from typing import Any, Protocol

import numpy as np

Array = np.ndarray[Any, Any]


class Session(Protocol):
    """A loaded model."""

    def prepare(self, inputs: Sequence[Array]) -> Callable[[], object]:
        """Copy the inputs once; return the function that runs the model on them."""

    def outputs(self) -> list[Array]:
        """Return the last run's results, in the model's order."""


class Peer(ABC):
    """A program that runs a quantized model.

    Attributes:
        name: the name in tables.
        distribution: the package whose version is reported.
        modules: the modules that it imports to run a model.
        compiler_modules: the modules that it imports in another process, to make the file that it
            loads; empty if it loads the .tflite file itself.
        formats: the suffixes of the models that it accepts.
        keeps_builds: whether a cache makes a second build of that file shorter.
    """

    name: str
    distribution: str
    modules: tuple[str, ...]
    compiler_modules: tuple[str, ...] = ()
    formats: tuple[str, ...] = (".tflite",)
    keeps_builds: bool = False

    def missing(self) -> list[str]:
        """Return the modules that are not installed here."""
        wanted = (*self.modules, *self.compiler_modules)
        return [name for name in wanted if util.find_spec(name.split(".")[0]) is None]

    def version(self) -> str:
        """Return the installed package's version; empty if it is unknown."""
        try:
            return metadata.version(self.distribution)
        except metadata.PackageNotFoundError:
            return ""

    def compile(self, model: Path, folder: Path) -> Path:
        """Make the file that ``load`` reads.

        Args:
            model: the file of the model.
            folder: the folder for files.
        """
        del folder
        return model

    def convert(self, model: Path, folder: Path) -> Path:
        """Make the file that ``build`` reads: the model itself, or a conversion of it.

        Args:
            model: the file of the model.
            folder: the folder for files.
        """
        return self.compile(model, folder)

    def build(self, file: Path, threads: int) -> object:
        """Make code that is ready to run of ``convert``'s file; most programs load it for that."""
        return self.load(file, threads)

    @abstractmethod
    def load(self, file: Path, threads: int) -> Session:
        """Load the file that ``compile`` made."""


def import_all(modules: Sequence[str]) -> None:
    """Import modules by name."""
    for name in modules:
        importlib.import_module(name)
