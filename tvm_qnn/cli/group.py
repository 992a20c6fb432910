"""Groups of commands that report faults of their input in one line.

Errors about options and commands of TVM's former command tvmc give advice.

This file does not import TVM, so that `--help` answers at once.
"""

import gc
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import click

from tvm_qnn.cli.streams import OutputError, readable_streams
from tvm_qnn.io.text import visible

INTERRUPTED = 130
"""The exit code after Ctrl-C: 128 plus the signal's number, as in shells."""


class Commands(click.Group):
    """A group of commands that report faults of their input in one line."""

    def main(self, *args: Any, **options: Any) -> Any:
        """Run a command, and exit."""
        # An import of TVM makes 200,000 objects that stay. By default, Python would look for
        # circles of references after each 700.
        gc.set_threshold(50_000)
        try:
            with readable_streams():
                return super().main(*args, **options)
        except OutputError as error:
            with suppress(OSError):  # it may be the same stream
                print(f"Error: cannot write the output: {error}", file=sys.stderr, flush=True)
            sys.exit(1)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments of the group itself."""
        if not args:
            return super().parse_args(ctx, args)  # shows the help
        with _short_usage_errors():
            return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the requested command."""
        if ctx.params["debug"]:
            return super().invoke(ctx)
        try:
            with _short_warnings(), _short_usage_errors():
                return super().invoke(ctx)
        except KeyboardInterrupt:
            click.echo("Aborted!", err=True)
            ctx.exit(INTERRUPTED)
        except BrokenPipeError:
            raise  # the reader of the output stopped: click ends silently
        except OSError as error:  # a folder is not writable, a file not readable
            raise click.ClickException(_shown(_reason(error))) from error
        except ValueError as error:
            # Imported late: it imports numpy.
            from qnn_ops.errors import QnnError

            if not isinstance(error, QnnError):
                raise
            # The command line's options have other names than Python's arguments.
            text = str(error).replace("shape_dict", "--shape").replace("values: ", "--value: ")
            raise click.ClickException(_shown(text)) from error


@contextmanager
def _short_usage_errors() -> Iterator[None]:
    """Shorten errors of a command's arguments to one line, without a summary of its usage."""
    try:
        yield
    except click.UsageError as error:
        if error.ctx is None:
            raise
        advice = hint(error)
        message = _shown(error.message if advice else error.format_message())
        end = "" if message.endswith((".", "?", ")")) else "."
        short = click.UsageError(f"{message}{end}{advice} Help: {error.ctx.command_path} --help")
        raise short from error


def _shown(message: str) -> str:
    """Make an error fit to print: it may have names from a model, and several lines."""
    return visible(message, kept="\n")


def _reason(error: OSError) -> str:
    """Name the file of an error, and the reason."""
    if error.strerror is None:
        return str(error)
    if error.filename is None:
        return error.strerror
    return f"{error.filename}: {error.strerror}"


@contextmanager
def _short_warnings() -> Iterator[None]:
    """Print warnings as one line of text, without the line of code that caused them."""
    before = warnings.formatwarning
    warnings.formatwarning = _one_line
    try:
        yield
    finally:
        warnings.formatwarning = before


def _one_line(message: Warning | str, *_place: object, **_more: object) -> str:
    return f"Warning: {_shown(str(message))}\n"


_OPTIONS = {
    "--cross-compiler": "write --cc",
    "--dump-code": "see what a model computes with tvm-qnn inspect MODEL",
    "--executor": "leave it out, there is one executor",
    "--input-shapes": "write --shape NAME=1,3,224,224 for each input",
    "--inputs": "write --input FILE.npz",
    "--model-format": "leave it out, the file's name tells",
    "--outputs": "write --output FILE.npz",
    "--pass-config": "leave it out, the passes are chosen by the target",
    "--print-time": "time a model with tvm-qnn bench MODEL",
    "--print-top": "write --top",
    "--profile": "time each operator with tvm-qnn profile MODEL",
    "--repeat": "time a model with tvm-qnn bench MODEL",
    "--runtime": "leave it out, there is one runtime",
    "--tuning-records": "leave it out, kernels need no tuning",
}

_COMMANDS = {
    "micro": "write C files with tvm-qnn compile MODEL --target cortex-m4 -o FOLDER",
    "tune": "kernels need no tuning, so compile the model",
}


def hint(error: click.UsageError) -> str:
    """Return advice as a sentence if an error is about one of tvmc's words; otherwise nothing."""
    word, known = "", _OPTIONS
    if isinstance(error, click.NoSuchOption):
        word = error.option_name
    elif error.message.startswith("No such command '"):
        word, known = error.message.split("'")[1], _COMMANDS
    return f" Where tvmc has {word}: {known[word]}." if word in known else ""
