"""`tvm-qnn serve`."""

from __future__ import annotations

import warnings
from pathlib import Path

import click

from tvm_qnn.cli.commands.options import FILE, ModelFile, model_argument
from tvm_qnn.cli.commands.run import model_of

_PORT = click.IntRange(1, 65535)


@click.command()
@model_argument
@click.option("--name", help="The model's name in requests; by default that of the file.")
@click.option(
    "--labels",
    type=FILE,
    help="The names of the model's classes, one a line, instead of those in the model file.",
)
@click.option(
    "--threads",
    default=1,
    show_default=True,
    type=click.IntRange(min=1),
    help="Threads of one run; as many runs are made at a time as there are processors for them.",
)
@click.option(
    "--batch-wait",
    type=click.FloatRange(min=0, min_open=True),
    metavar="MILLISECONDS",
    help="How long a request waits for others, to be run as rows of the model's batch with them.",
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
) -> None:
    """Serve MODEL, a library or a model file, by the Open Inference Protocol.

    Over HTTP and gRPC, on MLServer. Reals are quantized for inputs of integers. Ctrl-C ends it.
    """
    check_mlserver()

    from qnn_ops.errors import QnnError
    from tvm_qnn.io.classes import read_lines
    from tvm_qnn.serving.served import Served
    from tvm_qnn.serving.server import Address, start

    address = Address(host, port, grpc_port, metrics_port)
    address.check()  # before the minutes of a large model
    _, descriptions, make = model_of(model, threads)
    served = Served(make(), batching=batch_wait is not None)
    if labels is not None:
        served.name_classes(read_lines(labels), str(labels))
    else:
        for place, described in descriptions.outputs.items():
            output = served.library.outputs[place].name
            try:
                if described.labels:
                    served.name_classes(described.labels, "the model's metadata", output)
            except QnnError as error:
                warnings.warn(f"labels are left out: {error}", stacklevel=2)
    for note in descriptions.notes:
        warnings.warn(note, stacklevel=2)
    name = name or model.path.stem
    click.echo(f"Serving http://{host}:{port}/v2/models/{name}; Ctrl-C ends it")
    start(served, name, address, (batch_wait or 0) / 1000)


def check_mlserver() -> None:
    """Check that MLServer is installed.

    Raises:
        QnnError: if it cannot be imported.
    """
    from qnn_ops.errors import QnnError

    try:
        import mlserver  # noqa: F401
    except ImportError as error:
        raise QnnError(
            f"serve needs the package mlserver, which cannot be imported ({error}); install it, in "
            "an environment of its own, with: pip install 'tvm-qnn[serve]'"
        ) from error
