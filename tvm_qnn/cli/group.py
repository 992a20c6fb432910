"""Groups of commands that end with one line for what is wrong with their input.

Nothing here imports TVM: `--help` answers at once.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import click

from tvm_qnn.cli.streams import OutputError, readable_streams
from tvm_qnn.cli.tvmc import hint
from tvm_qnn.io.text import visible

INTERRUPTED = 130
"""The exit code after Ctrl-C: 128 and the number of the signal, as shells have it."""


class Commands(click.Group):
    """A group whose commands end with one line for what is wrong with their input."""

    def main(self, *args: Any, **options: Any) -> Any:
        """Run a command, and end the program."""
        try:
            with readable_streams():
                return super().main(*args, **options)
        except OutputError as error:
            with suppress(OSError):  # they may be one
                print(f"Error: cannot write the output: {error}", file=sys.stderr, flush=True)
            sys.exit(1)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments of the group itself."""
        if not args:
            return super().parse_args(ctx, args)  # shows the help
        with _short_usage_errors():
            return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command that was asked for."""
        if ctx.params["debug"]:
            return super().invoke(ctx)
        try:
            with _short_warnings(), _short_usage_errors():
                return super().invoke(ctx)
        except KeyboardInterrupt:
            click.echo("Aborted!", err=True)
            ctx.exit(INTERRUPTED)
        except BrokenPipeError:
            raise  # whoever read the output stopped: click ends without a word
        except OSError as error:  # a folder that cannot be written, a file that cannot be read
            raise click.ClickException(_shown(_reason(error))) from error
        except ValueError as error:
            # Not before it is needed: it imports numpy.
            from qnn_ops.errors import QnnError

            if not isinstance(error, QnnError):
                raise
            # Python's argument is the command line's option.
            text = str(error).replace("shape_dict", "--shape").replace("values: ", "--value: ")
            raise click.ClickException(_shown(text)) from error


@contextmanager
def _short_usage_errors() -> Iterator[None]:
    """Shorten errors of a command's line to one line, without a summary of its usage."""
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
    """Show an error, in which names of a model may stand; some take several lines."""
    return visible(message, kept="\n")


def _reason(error: OSError) -> str:
    """Say which file is wrong, and how."""
    if error.strerror is None:
        return str(error)
    if error.filename is None:
        return error.strerror
    return f"{error.filename}: {error.strerror}"


@contextmanager
def _short_warnings() -> Iterator[None]:
    """Show warnings as one line of text, without the line of code that gave them."""
    before = warnings.formatwarning
    warnings.formatwarning = _one_line
    try:
        yield
    finally:
        warnings.formatwarning = before


def _one_line(message: Warning | str, *_place: object, **_more: object) -> str:
    return f"Warning: {_shown(str(message))}\n"
