"""The arguments and options that several commands share."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, reduce, wraps
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, TypeVar

import click

from frontends.formats import format_of, formats, of_signature, read_model
from tvm_qnn.cli.model_files import LIBRARY

if TYPE_CHECKING:
    from frontends.formats import Source
    from tvm_qnn.io.terminal import Terminal

F = TypeVar("F", bound=Callable[..., Any])

FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
NEW_FILE = click.Path(dir_okay=False, path_type=Path)


class Parsed(click.ParamType):
    """A text that a function reads."""

    def __init__(self, name: str, read: Callable[[str], Any], message: str) -> None:
        """Make the type.

        Args:
            name: of the type.
            read: returns the value; raises ValueError for any other text.
            message: what the error says of such a text.
        """
        self.name, self._read, self._message = name, read, message

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the value."""
        try:
            return self._read(value) if isinstance(value, str) else value
        except ValueError:
            self.fail(f"{value!r} {self._message}", param, ctx)


_BOUNDS = re.compile(r"(\d+)\.\.(\d+)")


def _size(text: str) -> int | str | range:
    """Read a number, bounds such as 1..512, a name, or a sum of names."""
    if found := _BOUNDS.fullmatch(text):
        return range(int(found[1]), int(found[2]) + 1)
    return text if text.isidentifier() or "+" in text else int(text)


def _shape(text: str) -> tuple[str, tuple[int | str | range, ...]]:
    """Read a pair; sizes may be names, or bounds such as 1..512."""
    name, _, sizes = text.rpartition("=")
    shape = tuple(map(_size, sizes.split(",")))
    if not name or any(isinstance(each, int) and each < 1 for each in shape):
        raise ValueError
    return name, shape


_CONSTANTS = {"true": True, "false": False}


def _number(text: str) -> float:
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    return int(text) if re.fullmatch(r"\s*[+-]?\d+\s*", text) else float(text)


def _value(text: str) -> tuple[str, Any]:
    name, _, values = text.rpartition("=")
    found = [_number(each) for each in values.split(",")]
    if not name:
        raise ValueError
    return name, found if "," in values else found[0]


def _numbers(text: str) -> tuple[float, ...]:
    """Read one number, or one for each channel, as 123.7,116.3,103.5."""
    numbers = tuple(float(number) for number in text.split(","))
    if not all(map(math.isfinite, numbers)):
        raise ValueError
    return numbers


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    if not host or not port.isdecimal():
        raise ValueError
    return host, int(port)


_POWERS = {"": 0, "K": 10, "M": 20}


def _bytes(text: str) -> int:
    found = re.fullmatch(r"(\d{1,12})([KM]?)", text)
    if not found or not int(found[1]):
        raise ValueError
    return int(found[1]) << _POWERS[found[2]]


_NUMBERS = Parsed("numbers", _numbers, "is no number, nor numbers with commas between")


@dataclass(frozen=True)
class ModelFile:
    """MODEL, and the options that describe it."""

    path: Path
    params: Path | None
    semantics: str | None
    shapes: Mapping[str, Any]
    values: Mapping[str, Any] = field(default_factory=dict)
    signature: str | None = None

    @property
    def is_library(self) -> bool:
        """Whether MODEL is a library, and not a model file."""
        return self.path.suffix == LIBRARY

    @cached_property
    def file(self) -> Path:
        """The file to read: MODEL, or a changed copy, which exists as long as this object."""
        if self.signature is not None:
            content = of_signature(self.path, self.signature)
        elif self.values:
            content = self._with_values()
        else:
            return self.path
        path = Path(self._folder.name) / self.path.name
        path.write_bytes(content)
        return path

    @cached_property
    def _folder(self) -> TemporaryDirectory[str]:
        return TemporaryDirectory()

    def _with_values(self) -> bytes:
        if format_of(self.path).name != "ONNX":
            from qnn_ops.errors import QnnError

            raise QnnError(f"--value is for ONNX models: {self.path.name} is none")
        from frontends.onnx.read.constants import with_values
        from frontends.onnx.read.reader import read_proto

        return bytes(with_values(read_proto(self.path), self.values).SerializeToString())

    @property
    def reading(self) -> dict[str, Any]:
        """How the file is read, as arguments of functions that take a model."""
        return {"params": self.params, "shapes": self.shapes, "semantics": self.semantics}

    def refuse_options(self, what: str = "libraries", **others: object) -> None:
        """Refuse options for model files, and the others that are named, if MODEL is a library."""
        own = {name: getattr(self, name) for name in ("params", "semantics", "signature")}
        options = {**own, "shape": self.shapes, "value": self.values, **others}
        if given := [f"--{name}" for name, value in options.items() if value]:
            told = ", ".join(given)
            raise click.UsageError(f"{told}: such options are for model files, not for {what}")

    def read(self) -> Source:
        """Read a model of any format."""
        return read_model(self.file, self.params, self.semantics)


def input_option(help_text: str, **settings: Any) -> Callable[[F], F]:
    """Return the option --input, as a tuple ``inputs`` of texts."""
    named: dict[str, Any] = {"multiple": True, "metavar": "[NAME=]FILE", "help": help_text}
    return click.option("--input", "-i", "inputs", **named, **settings)


def number_option(*names: str, default: int, help_text: str) -> Callable[[F], F]:
    """Return an option for a number from 1 on, with a default that its help shows."""
    kind = click.IntRange(min=1)
    return click.option(*names, default=default, show_default=True, type=kind, help=help_text)


def rounds_option(default: int) -> Callable[[F], F]:
    """Return the option --rounds, with another name that TVM's users know."""
    names = ("--rounds", "--repeat", "rounds")
    return number_option(*names, default=default, help_text="Runs to time.")


def folder_option(help_text: str, **settings: Any) -> Callable[[F], F]:
    """Return the option --output for a folder, which need not exist."""
    kind = click.Path(file_okay=False, path_type=Path)
    return click.option("--output", "-o", type=kind, help=help_text, **settings)


device_option = click.option(
    "--device",
    type=Parsed("address", _address, "is not of the form HOST:PORT"),
    metavar="HOST:PORT",
    help="Run MODEL on this device, which runs TVM's RPC server.",
)
"""Adds --device, as a pair of host and port."""


def _together(*options: Callable[[F], F]) -> Callable[[F], F]:
    """Return what adds several options, in their order in the help."""
    return lambda function: reduce(lambda done, option: option(done), reversed(options), function)


_model_options = _together(
    click.option(
        "--params",
        type=FILE,
        help="The .params file of an MXNet model; by default the one beside MODEL.",
    ),
    click.option(
        "--semantics",
        "--reference",
        "semantics",
        type=click.Choice([name for one in formats() for name in one.semantics]),
        help="The framework that defines the results. For TFLite: LiteRT's reference kernels, by "
        "default, or TFLM, for microcontrollers. For MXNet: MXNet 1.9.1, by default, or the "
        "results that MXNet should have given.",
    ),
    click.option(
        "--signature",
        metavar="NAME",
        help="One of the models in a TFLite file, as decode; `inspect` lists them.",
    ),
    click.option(
        "--shape",
        "shapes",
        type=Parsed("shape", _shape, "is not of the form NAME=1,3,224,224"),
        multiple=True,
        metavar="NAME=1,3,224,224",
        help="An input's shape, in place of the file's, or if the file leaves sizes open. "
        "PyTorch's open sizes may be names, as x=batch,3, with bounds, as batch=1..16.",
    ),
    click.option(
        "--value",
        "values",
        type=Parsed("value", _value, "is not of the form NAME=16000, NAME=true or NAME=1,2"),
        multiple=True,
        metavar="NAME=16000",
        help="The value of an ONNX model's input, which becomes a constant.",
    ),
)


def model_argument(
    function: Callable[..., None], kind: click.ParamType = FILE
) -> Callable[..., None]:
    """Add MODEL, as a ``ModelFile``: a .tflite file, or the symbol file of an MXNet model."""

    @wraps(function)
    def command(
        model: Path,
        params: Path | None,
        semantics: str | None,
        shapes: Any,
        values: Any,
        signature: str | None,
        **others: Any,
    ) -> None:
        given = ModelFile(model, params, semantics, dict(shapes), dict(values), signature)
        function(given, **others)

    return click.argument("model", type=kind)(_model_options(command))


picture_options = _together(
    click.option(
        "--crop",
        type=click.FloatRange(0, 1, min_open=True),
        help="Keep this middle part of a picture's width and height, as 0.875.",
    ),
    click.option(
        "--resize",
        type=click.IntRange(min=1),
        metavar="PIXELS",
        help="Scale the shorter side to this, and cut out the input's size in the middle; "
        "without it the whole picture is scaled to the input's size.",
    ),
    click.option("--order", type=click.Choice(["rgb", "bgr"]), help="The order of colours."),
    click.option(
        "--mean",
        type=_NUMBERS,
        metavar="NUMBER[,…]",
        help="A number to subtract from a picture's values from 0 to 255, or one for each channel.",
    ),
    click.option(
        "--std",
        type=_NUMBERS,
        metavar="NUMBER[,…]",
        help="A number to divide the difference by, or one for each channel.",
    ),
)
"""Adds the options for pictures: --crop, --resize, --order, --mean and --std."""

ram_limit_option = click.option(
    "--ram-limit",
    type=Parsed("bytes", _bytes, "is no number of bytes, as 65536 or 64K"),
    metavar="64K",
    help="For microcontrollers: the most memory that the model may take, as with --arena. Its "
    "first layers run in strips of rows if necessary.",
)
"""Adds --ram-limit, as a number of bytes."""


def _targets(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """Return the targets' names that begin with the typed text."""
    from tvm_qnn.target.boards import BOARDS
    from tvm_qnn.target.target import NAMES

    before, comma, begun = incomplete.rpartition(",")
    names = ("host", *NAMES, *BOARDS)
    return [before + comma + name for name in names if name.startswith(begun)]


target_option = click.option(
    "--target",
    default="host",
    show_default=True,
    shell_complete=_targets,
    help="The target to compile for; `tvm-qnn targets` lists the names.",
)
"""Adds --target, for this machine unless another one is named."""


def progress() -> Terminal:
    """Return the console for progress: the terminal's error stream, or nowhere."""
    from tvm_qnn.io.terminal import Terminal

    console = Terminal(stderr=True)
    console.quiet = not console.is_terminal
    return console
