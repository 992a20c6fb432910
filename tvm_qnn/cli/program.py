"""The command `tvm-qnn`. Each of its commands stands in a file of `tvm_qnn.cli.commands`.

Nothing here imports TVM, nor do the commands before they run: `--help` answers at once.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import click

from tvm_qnn.cli.commands.bench import bench
from tvm_qnn.cli.commands.compare import compare
from tvm_qnn.cli.commands.compile import compile_model
from tvm_qnn.cli.commands.completion import completion
from tvm_qnn.cli.commands.demo import demo
from tvm_qnn.cli.commands.info import info
from tvm_qnn.cli.commands.inspect import inspect
from tvm_qnn.cli.commands.profile import profile
from tvm_qnn.cli.commands.run import run
from tvm_qnn.cli.commands.targets import targets
from tvm_qnn.cli.streams import OutputError, readable_streams
from tvm_qnn.io.text import visible
from tvm_qnn.version import __version__

COMMANDS = (inspect, compile_model, run, bench, profile, compare, info, targets, demo, completion)


INTERRUPTED = 130
"""The exit code after Ctrl-C: 128 and the number of the signal, as shells have it."""


class _Commands(click.Group):
    """A group whose commands end with one line for what is wrong with their input."""

    def main(self, *args: Any, **options: Any) -> Any:
        try:
            with readable_streams():
                return super().main(*args, **options)
        except OutputError as error:
            with suppress(OSError):  # they may be one
                print(f"Error: cannot write the output: {error}", file=sys.stderr, flush=True)
            sys.exit(1)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args:
            return super().parse_args(ctx, args)  # shows the help
        with _short_usage_errors():
            return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
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
            # Imported this late because it imports TVM, as whoever raised a QnnError did.
            from qnn_ops.errors import QnnError

            if not isinstance(error, QnnError):
                raise
            raise click.ClickException(_shown(str(error))) from error


@contextmanager
def _short_usage_errors() -> Iterator[None]:
    """Shorten errors of a command's line to one line, without a summary of its usage."""
    try:
        yield
    except click.UsageError as error:
        if error.ctx is None:
            raise
        message = _shown(error.format_message())
        end = "" if message.endswith((".", "?", ")")) else "."
        short = click.UsageError(f"{message}{end} Help: {error.ctx.command_path} --help")
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


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--debug", is_flag=True, help="Show where in the program an error arose.")
@click.version_option(__version__, package_name="tvm-qnn", message="%(package)s %(version)s")
def main(debug: bool) -> None:
    """Compile quantized models to integer code that computes what their framework computes."""


for command in COMMANDS:
    main.add_command(command)
