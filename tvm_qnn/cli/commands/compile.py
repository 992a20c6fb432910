"""`tvm-qnn compile`."""

import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import click

from tvm_qnn.cli.commands import options
from tvm_qnn.cli.commands.outputs import check_file, check_folder, json_option, print_json
from tvm_qnn.cli.model_files import LIBRARY

ARCHIVE = ".tar"


@click.command(name="compile")
@options.model_argument
@click.option(
    "--output",
    "-o",
    type=click.Path(path_type=Path),
    help="A library, ending in .so; or a folder or .tar file for C files that need no TVM. By "
    "default MODEL's name with .so, here; for microcontrollers a folder of that name.",
)
@options.target_option
@click.option("--cc", help="The linker to use; by default one on the path, or ziglang.")
@click.option(
    "--arena",
    is_flag=True,
    help="Write C files that take the least memory: inputs and outputs lie in the workspace.",
)
@options.ram_limit_option
@click.option(
    "--test-vectors",
    metavar="N",
    default=0,
    type=click.IntRange(min=0),
    help="Also write a program that compares N runs with their results on this machine.",
)
@click.option(
    "--package",
    type=click.Choice(["cmake", "arduino", "zephyr", "cmsis", "platformio", "esp-idf"]),
    help="Write C files as a folder for this build system.",
)
@click.option(
    "--cache/--no-cache",
    default=True,
    show_default=True,
    help="Keep the compiled library in the user's cache, and load it from there the next time.",
)
@json_option
def compile_model(
    model: options.ModelFile,
    output: Path | None,
    target: str,
    cc: str | None,
    arena: bool,
    ram_limit: int | None,
    test_vectors: int,
    package: str | None,
    cache: bool,
    as_json: bool,
) -> None:
    """Compile MODEL to a shared library, or to files for a C compiler.

    `tvm-qnn run` and `tvm_qnn.load` run the library. With several names in --target, as in
    x86-avx2,x86-avx512-vnni,x86-amx, it has code for each, and a processor runs the best one
    that it can. A folder or an archive gets an object file with code and weights, a header and
    an example, which need nothing but a C compiler.
    """
    from qnn_ops.errors import QnnError
    from tvm_qnn.build import build, export_c
    from tvm_qnn.footprint.layers import Follower
    from tvm_qnn.io.progress import timed
    from tvm_qnn.io.text import visible
    from tvm_qnn.standalone.packages import package_for
    from tvm_qnn.target.linker import find_linker
    from tvm_qnn.target.microcontrollers import is_bare
    from tvm_qnn.target.target import parse_target, parse_targets, requirements, split_targets

    names = split_targets(target)
    parsed = parse_targets(names) if len(names) > 1 else [parse_target(target)]
    bare = any(map(is_bare, parsed))
    ending = "" if bare else LIBRARY
    path = output or Path(f"{model.path.stem.removesuffix('-symbol')}{ending}")
    is_library = path.suffix == LIBRARY
    # Before the minutes that a large model takes.
    _check(path)
    if is_library and bare:
        raise QnnError(
            f"nothing loads libraries on {target}: name a folder or a .tar file for C files, "
            f"as in -o {path.stem}"
        )
    if len(parsed) > 1 and not is_library:
        raise QnnError("C files are for one target; a library, which ends in .so, takes several")
    of_c: dict[str, Any] = {"arena": arena, "ram_limit": ram_limit, "test_vectors": test_vectors}
    if is_library:
        find_linker(cc, requirements(parsed[0]).platform)
        for name, is_given in {**of_c, "package": package}.items():
            if is_given:
                option = f"--{name.replace('_', '-')}"
                raise click.UsageError(f"{option} is for C files, which a library is not")
    elif cc is not None:
        raise click.UsageError("--cc is for libraries: the C files are not linked")
    form = package_for(package, parsed[0]) if package else None
    console, start = options.progress(), time.perf_counter()
    with timed(console, f"Import {model.path.name}"):
        source = model.read()
        imported = source.convert(model.shapes)
    if is_library:
        with timed(console, f"Compile for {target}"):
            # The cache's key does not have the linker, so a library of another linker is not
            # cached.
            chosen = parsed if len(parsed) > 1 else parsed[0]
            library = build(imported.mod, chosen, imported.params, cache=cache and cc is None)
        with timed(console, f"Write {path}"):
            library.export(path, cc)
        files = [path]
    else:
        follower = Follower(source, imported, model.shapes)
        with timed(console, f"Compile for {target}, into {path}"), follower.context():
            of_c |= {"package": form, "names": follower.names, "notes": follower.notes}
            export = partial(export_c, imported.mod, parsed[0], imported.params, **of_c)
            files = _write_c(export, model.path, path)
    seconds = time.perf_counter() - start
    if as_json:
        texts = [str(each) for each in parsed]
        print_json(
            {
                "files": [str(file) for file in files],
                "target": texts if len(texts) > 1 else texts[0],
                "seconds": round(seconds, 3),
            }
        )
    else:
        size = sum(file.stat().st_size for file in files) / 1e6
        kind = "" if is_library else "C files, "
        text = f"{path}: {kind}{size:.1f} MB, for {target}, in {seconds:.1f} s"
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


def _write_c(export: Callable[[Path], list[str]], model: Path, path: Path) -> list[Path]:
    """Write the C files to a folder or an archive; return them. The model names them."""
    import tarfile

    from tvm_qnn.io.outputs import replacing

    name = "".join(c if c.isascii() and c.isalnum() else "_" for c in model.stem)
    name = name if name[:1].isalpha() else f"model_{name}"
    if path.suffix == ARCHIVE:
        with replacing(path) as part:
            names = export(part.with_name(name))
            with tarfile.open(part, "w") as archive:
                for file in names:
                    archive.add(part.parent / file, file)
        return [path]
    is_new = not path.exists()
    path.mkdir(exist_ok=True)
    try:
        names = export(path / name)
    except BaseException:
        with suppress(OSError):
            if is_new:
                path.rmdir()
        raise
    return [path / file for file in names]
