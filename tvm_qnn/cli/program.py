"""The command `tvm-qnn`. Each of its commands has a file in `tvm_qnn.cli.commands`.

Neither this file nor a command imports TVM before the command runs, so that `--help` answers at
once.
"""

import runpy

import click

from tvm_qnn.cli.commands.bench import bench
from tvm_qnn.cli.commands.compare import compare
from tvm_qnn.cli.commands.compile import compile_model
from tvm_qnn.cli.commands.completion import completion
from tvm_qnn.cli.commands.demo import demo
from tvm_qnn.cli.commands.evaluate import evaluate
from tvm_qnn.cli.commands.generate import generate
from tvm_qnn.cli.commands.info import info
from tvm_qnn.cli.commands.inspect import inspect
from tvm_qnn.cli.commands.profile import profile
from tvm_qnn.cli.commands.report import report
from tvm_qnn.cli.commands.run import run
from tvm_qnn.cli.commands.serve import serve
from tvm_qnn.cli.commands.targets import targets
from tvm_qnn.cli.group import Commands
from tvm_qnn.version import __version__

COMMANDS = (
    *(inspect, compile_model, run, generate, evaluate, serve, bench, profile, report, compare),
    *(info, targets, demo, completion),
)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
@click.option(
    "--rules",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False),
    help="A Python file to run first, with rules for custom operators of models.",
)
@click.version_option(__version__, package_name="tvm-qnn", message="%(package)s %(version)s")
def main(debug: bool, rules: str | None) -> None:
    """Compile quantized models to integer code, with the results of the model's own framework."""
    if rules:
        try:
            runpy.run_path(rules)
        except Exception as error:  # a fault of input, like others, is one line
            raise click.ClickException(f"{rules}: {type(error).__name__}: {error}") from error


for command in COMMANDS:
    main.add_command(command)
