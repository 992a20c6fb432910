"""`tvm-qnn serve`."""

from __future__ import annotations

import warnings
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tvm_qnn.cli.commands import options
from tvm_qnn.cli.commands.options import FILE, ModelFile, model_argument, picture_options
from tvm_qnn.cli.commands.run import model_of, preparation_of

if TYPE_CHECKING:
    from tvm_qnn.io.preparation import Preparation
    from tvm_qnn.serving.served import Served

_PORT = click.IntRange(1, 65535)
_FILE_OR_FOLDER = click.Path(exists=True, path_type=Path)


@click.command()
@partial(model_argument, kind=_FILE_OR_FOLDER)
@picture_options
@click.option("--name", help="The model's name in requests; by default that of the file.")
@click.option(
    "--labels",
    type=FILE,
    help="The names of the model's classes, one a line, instead of those in the model file.",
)
@options.number_option(
    "--threads",
    default=1,
    help_text="Threads of one run; the processors divided by this number are the runs at one time.",
)
@click.option(
    "--batch-wait",
    type=click.FloatRange(min=0, min_open=True),
    metavar="MILLISECONDS",
    help="How long a request waits for others, to run together as rows of the model's batch.",
)
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    help="Where to listen; 0.0.0.0 lets other machines in.",
)
@click.option("--port", default=8080, show_default=True, type=_PORT, help="For HTTP.")
@click.option("--grpc-port", default=8081, show_default=True, type=_PORT, help="For gRPC.")
@click.option("--metrics-port", default=8082, show_default=True, type=_PORT, help="For Prometheus.")
def serve(
    model: ModelFile,
    name: str | None,
    labels: Path | None,
    threads: int,
    batch_wait: float | None,
    host: str,
    port: int,
    grpc_port: int,
    metrics_port: int,
    **pictures: Any,
) -> None:
    """Serve MODEL, a library or a model file, by the Open Inference Protocol.

    MODEL may be a folder, too: each NAME.so or NAME/VERSION.so in it is a model, and changes are
    loaded while the server runs. The server is MLServer, and answers over HTTP and gRPC. Real
    numbers are quantized for integer inputs. Ctrl-C ends it.
    """
    check_mlserver()

    from tvm_qnn.serving.folder import Folder
    from tvm_qnn.serving.server import Address, start

    address = Address(host, port, grpc_port, metrics_port)
    address.check()  # before the minutes that a large model takes
    preparation = preparation_of(pictures)
    make = partial(
        _served, threads=threads, batching=batch_wait is not None, preparation=preparation
    )
    folder = None
    if model.path.is_dir():
        model.refuse_options("folders", name=name, labels=labels)

        def made(path: Path, names: Path | None) -> Served:
            return make(ModelFile(path, None, None, {}), names)

        folder = Folder(model.path, made, partial(click.echo, err=True))
        models = folder.first()
    else:
        models = {(name or model.path.stem, ""): make(model, labels)}
    for name, version in models:
        place = f"{name}/versions/{version}" if version else name
        click.echo(f"Serving http://{host}:{port}/v2/models/{place}; Ctrl-C ends it")
    start(models, address, (batch_wait or 0) / 1000, folder)


def _served(
    model: ModelFile, labels: Path | None, *, threads: int, batching: bool, preparation: Preparation
) -> Served:
    """Load or compile a model, with the names of its classes."""
    from qnn_ops.errors import QnnError
    from tvm_qnn.io.classes import read_lines
    from tvm_qnn.serving.pictures import Pictures
    from tvm_qnn.serving.served import Served

    _, descriptions, make = model_of(model, threads)
    library = make()
    described = {library.inputs[place].name: each for place, each in descriptions.inputs.items()}
    served = Served(library, batching=batching, pictures=Pictures(preparation, described))
    if labels is not None:
        served.name_classes(read_lines(labels), str(labels))
    else:
        for place, each in descriptions.outputs.items():
            try:
                if each.labels:
                    output = library.outputs[place].name
                    served.name_classes(each.labels, "the model's metadata", output)
            except QnnError as error:
                warnings.warn(f"labels are left out: {error}", stacklevel=2)
    for note in descriptions.notes:
        warnings.warn(note, stacklevel=2)
    return served


def check_mlserver() -> None:
    """Check that MLServer is installed.

    Raises:
        QnnError: if it cannot be imported.
    """
    from qnn_ops.errors import needed

    with needed("serve", "mlserver", "'tvm-qnn[serve]'", ", in an environment of its own,"):
        import mlserver  # noqa: F401
