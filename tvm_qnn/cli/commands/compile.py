"""`tvm-qnn compile`."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

import click

from tvm_qnn.cli.commands.options import (
    ModelFile,
    json_option,
    model_argument,
    print_json,
    progress,
    target_option,
)
from tvm_qnn.cli.commands.outputs import check_file, check_folder

LIBRARY, ARCHIVE = ".so", ".tar"


@click.command(name="compile")
@model_argument
@click.option(
    "--output",
    "-o",
    type=click.Path(path_type=Path),
    help="A library, ending in .so; or a folder or .tar file for C files that need no TVM. By "
    "default MODEL's name with .so, here; for microcontrollers a folder of that name.",
)
@target_option
@click.option("--cc", help="The linker to use; by default one on the path, or ziglang.")
@click.option(
    "--cache/--no-cache",
    default=True,
    show_default=True,
    help="Keep what is compiled, and take it from there the next time.",
)
@json_option
def compile_model(
    model: ModelFile,
    output: Path | None,
    target: str,
    cc: str | None,
    cache: bool,
    as_json: bool,
) -> None:
    """Compile MODEL to a shared library, or to files for a C compiler.

    `tvm-qnn run` and `tvm_qnn.load` run the library. A folder or an archive gets an object file
    with code and weights, a header and an example, which need nothing but a C compiler.
    """
    from qnn_ops.errors import QnnError
    from tvm_qnn.build import build, export_c
    from tvm_qnn.io.progress import timed
    from tvm_qnn.io.text import visible
    from tvm_qnn.target.linker import find_linker
    from tvm_qnn.target.microcontrollers import is_bare
    from tvm_qnn.target.target import parse_target, requirements

    parsed = parse_target(target)
    ending = "" if is_bare(parsed) else LIBRARY
    path = output or Path(f"{model.path.stem.removesuffix('-symbol')}{ending}")
    is_library = path.suffix == LIBRARY
    # Before the minutes of a large model, not after them.
    _check(path)
    if is_library and is_bare(parsed):
        raise QnnError(
            f"nothing loads libraries on {target}: name a folder or a .tar file for C files, "
            f"as in -o {path.stem}"
        )
    if is_library:
        find_linker(cc, requirements(parsed).platform)
    elif cc is not None:
        raise click.UsageError("--cc is for libraries: the C files are not linked")
    console, start = progress(), time.perf_counter()
    with timed(console, f"Import {model.path.name}"):
        imported = model.read().convert(model.shapes)
    if is_library:
        with timed(console, f"Compile for {target}"):
            # What is kept was linked without being told by what.
            library = build(imported.mod, target, imported.params, cache=cache and cc is None)
        with timed(console, f"Write {path}"):
            library.export(path, cc)
        files = [path]
    else:
        with timed(console, f"Compile for {target}, into {path}"):
            files = _write_c(
                partial(export_c, imported.mod, target, imported.params), model.path, path
            )
    seconds = time.perf_counter() - start
    if as_json:
        names = [str(file) for file in files]
        print_json({"files": names, "target": str(parsed), "seconds": round(seconds, 3)})
    else:
        size = sum(file.stat().st_size for file in files) / 1e6
        text = f"{path}: {size:.1f} MB, for {target}, in {seconds:.1f} s"
        click.echo(visible(text))


def _check(path: Path) -> None:
    from qnn_ops.errors import QnnError

    if path.suffix not in (LIBRARY, ARCHIVE, ""):
        raise QnnError(
            f"what is written is a library, whose name must end in .so, a .tar file or a folder: "
            f"got {path}"
        )
    if path.suffix:
        check_file(path)
        return
    check_folder(path)
    if not path.parent.is_dir():
        raise QnnError(f"cannot write {path}: there is no folder {path.parent}")


def _write_c(export: Callable[[Path], None], model: Path, path: Path) -> list[Path]:
    """Return the C files, in a folder or in an archive; named after the model."""
    import tarfile

    from tvm_qnn.io.outputs import replacing
    from tvm_qnn.standalone.export import file_names

    name = "".join(c if c.isascii() and c.isalnum() else "_" for c in model.stem)
    name = name if name[:1].isalpha() else f"model_{name}"
    if path.suffix == ARCHIVE:
        with replacing(path) as part:
            export(part.with_name(name))
            with tarfile.open(part, "w") as archive:
                for file in file_names(name):
                    archive.add(part.with_name(file), file)
        return [path]
    is_new = not path.exists()
    path.mkdir(exist_ok=True)
    try:
        export(path / name)
    except BaseException:
        with suppress(OSError):
            if is_new:
                path.rmdir()
        raise
    return [path / file for file in file_names(name)]
