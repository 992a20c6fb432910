"""Put the documentation that `make docs` built beside that of other versions.

    python -m tools.docs_site docs/_build/html SITE

SITE has a folder for each version, `versions.json` with their names, the newest first, and a page
that leads to the newest. The pages' sidebar then offers the versions.
"""

import argparse
import json
import re
import shutil
from pathlib import Path

import tvm_qnn
from qnn_ops.errors import QnnError
from tvm_qnn.io.outputs import write_text

LIST = "versions.json"

_LEAD = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="refresh" content="0; url={newest}/">
<title>tvm-qnn</title>
</head>
<body><p><a href="{newest}/">tvm-qnn {newest}</a></p></body>
</html>
"""


def add(built: Path, site: Path, version: str) -> None:
    """Put the pages of a version into a site, in place of those that it has of this version.

    Args:
        built: the folder of the pages.
        site: the folder of all versions; it is made where there is none.
        version: the name of this one, such as "0.1.0".

    Raises:
        QnnError: if there are no pages, or the version cannot be a folder's name.
    """
    if not (built / "index.html").is_file():
        raise QnnError(f"{built} has no index.html: run 'make docs' first")
    if not re.fullmatch(r"\w[\w.+-]*", version):
        raise QnnError(f"a version is a folder of the site, got {version!r}")
    shutil.rmtree(site / version, ignore_errors=True)
    shutil.copytree(built, site / version, ignore=shutil.ignore_patterns(".doctrees"))
    versions = sorted(
        (folder.name for folder in site.iterdir() if (folder / "index.html").is_file()),
        key=_age,
        reverse=True,
    )
    write_text(site / LIST, json.dumps(versions) + "\n")
    write_text(site / "index.html", _LEAD.format(newest=versions[0]))


def _age(version: str) -> tuple[bool, list[int], str]:
    """Return a key by which later versions come after earlier ones, and both after other names."""
    numbers = re.fullmatch(r"v?(\d+(?:\.\d+)*)", version)
    return numbers is not None, [*map(int, numbers[1].split("."))] if numbers else [], version


def main() -> None:
    """Read the command line and do so."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("built", type=Path, help="the folder of pages")
    parser.add_argument("site", type=Path, help="the folder of all versions")
    arguments = parser.parse_args()
    try:
        add(arguments.built, arguments.site, tvm_qnn.__version__)
    except QnnError as error:
        raise SystemExit(f"Error: {error}") from error


if __name__ == "__main__":
    main()
