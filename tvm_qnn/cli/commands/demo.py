"""`tvm-qnn demo`."""

from pathlib import Path

import click

from tvm_qnn.cli.commands.options import FILE, folder_option
from tvm_qnn.cli.commands.outputs import check_folder
from tvm_qnn.cli.model_files import check_tflite


@click.command()
@click.option("--model", type=FILE, help="Your own quantized .tflite file.")
@click.option("--image", type=FILE, help="A picture for it; by default, noise.")
@click.option("--labels", type=FILE, help="The names of its classes, one a line.")
@folder_option(
    "The folder for the picture of classified digits.", default=Path("out"), show_default=True
)
def demo(model: Path | None, image: Path | None, labels: Path | None, output: Path) -> None:
    """Show on this machine that tvm-qnn is exact, and how fast it is.

    Classifies handwritten digits, then compiles Inception V3, compares every intermediate tensor
    with LiteRT's reference kernels and times both. With a model of your own, it does the second
    part for that model.
    """
    if model is None and (image or labels):
        raise click.UsageError("--image and --labels are for a model: give --model too")

    from tvm_qnn.demo.digits import show_digits
    from tvm_qnn.demo.inception import show_inception, show_own_model
    from tvm_qnn.io.terminal import Terminal
    from tvm_qnn.oracle import check_litert

    console = Terminal()
    check_litert()
    if model is None:
        check_folder(output)
        show_digits(console, output)
        show_inception(console)
    else:
        check_tflite(model)
        show_own_model(console, model, image, labels)
