"""`tvm-qnn completion`."""

import click
from click.shell_completion import get_completion_class


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print a script with which SHELL completes this command's arguments.

    For bash: eval "$(tvm-qnn completion bash)"; put this into ~/.bashrc for later shells.
    """
    kind = get_completion_class(shell)
    if kind is None:
        raise click.ClickException(f"there is no completion for {shell}")
    click.echo(kind(ctx.find_root().command, {}, "tvm-qnn", "_TVM_QNN_COMPLETE").source())
