"""`tvm-qnn compile`."""

from __future__ import annotations

from pathlib import Path

import click


@click.command(name="compile")
@click.argument("model", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--output",
    "-o",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The library to write, ending in .so; by default MODEL's name with that ending, here.",
)
@click.option("--target", default="host", show_default=True, help="What to compile for.")
@click.option("--cc", help="The linker to use; by default a C compiler on the path, or ziglang.")
@click.option(
    "--cache/--no-cache",
    default=True,
    show_default=True,
    help="Keep what is compiled, and take it from there the next time.",
)
def compile_model(
    model: Path, output: Path | None, target: str, cc: str | None, cache: bool
) -> None:
    """Compile MODEL, a .tflite file, to a shared library.

    `tvm_qnn.load` loads the library and runs it. TARGET is "host" for this machine's processor,
    or a kind and options as TVM takes them: "llvm -mcpu=cascadelake".
    """
    from rich.console import Console

    from frontends.tflite import from_tflite
    from tvm_qnn.build import build
    from tvm_qnn.linker import find_linker
    from tvm_qnn.steps import step
    from tvm_qnn.target import parse_target, requirements

    library_path = output or Path(f"{model.stem}.so")
    # Before the minutes of a large model, not after them.
    find_linker(cc, requirements(parse_target(target)).platform)
    console = Console(highlight=False)
    with step(console, f"Import {model.name}"):
        mod, params = from_tflite(model)
    with step(console, f"Compile for {target}"):
        # What is kept was linked without being told by what.
        library = build(mod, target, params, cache=cache and cc is None)
    with step(console, f"Link {library_path}"):
        library.export(library_path, cc)
