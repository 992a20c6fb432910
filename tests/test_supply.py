"""docs/supply.md lists what setup.py installs, under which licence; and the code imports it all."""

import ast
import re
import runpy
import sys
from collections.abc import Iterator, Mapping
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "supply.md").read_text(encoding="utf-8")
SHIPPED = ("qnn_ops", "legalize", "frontends", "tvm_qnn")

# What metadata calls the licences.
SPELLINGS = {
    "Apache-2.0": ("Apache-2.0", "Apache 2.0", "Apache License 2.0", "Apache Software License"),
    "BSD-2-Clause": ("BSD-2-Clause", "BSD 2-Clause License", "FreeBSD"),
    # Older releases of numpy state no more than the family.
    "BSD-3-Clause": ("BSD-3-Clause", "3-clause BSD", "BSD License"),
    "MIT": ("MIT", "MIT License"),
    "MIT-CMU": ("MIT-CMU",),
    "MPL-2.0": ("MPL-2.0",),
    "PSF-2.0": ("PSF-2.0", "Python Software Foundation License"),
}

# Packages that are imported by another name.
MODULES = {"apache-tvm": "tvm", "apache-tvm-ffi": "tvm_ffi", "ai-edge-litert": "ai_edge_litert"}
MODULES |= {"pillow": "PIL", "scikit-learn": "sklearn", "ray[data]": "ray"}


def table(heading: str) -> list[list[str]]:
    """Return the rows of the first table after a heading."""
    lines = PAGE.split(f"## {heading}\n", 1)[1].split("\n## ", 1)[0].splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if "|" in line]
    return rows[2:]


ALWAYS, EXTRAS = table("Always installed"), table("By extra")
LICENCES = {row[0]: row[-1] for row in [*EXTRAS, *ALWAYS]}


@pytest.fixture(scope="module")
def packaging() -> dict[str, Any]:
    """Run setup.py for its metadata, without installing anything."""
    said: dict[str, Any] = {}
    with pytest.MonkeyPatch.context() as patch:
        stand_in = SimpleNamespace(setup=said.update, find_packages=lambda **_options: [])
        patch.setitem(sys.modules, "setuptools", stand_in)
        patch.chdir(ROOT)
        runpy.run_path("setup.py", run_name="__main__")
    return said


def split(requirement: str) -> tuple[str, str]:
    """Name and range of a requirement, without the platforms that it is for."""
    match = re.fullmatch(r"([\w.\[\]-]+)\s*([^;]*?)\s*(?:;.*)?", requirement)
    assert match is not None
    return match[1], match[2]


def test_what_is_always_installed(packaging: Mapping[str, Any]) -> None:
    assert [(name, span) for name, span, _, _ in ALWAYS] == [
        split(requirement) for requirement in packaging["install_requires"]
    ]


def test_what_extras_install(packaging: Mapping[str, Any]) -> None:
    listed = {
        (extra, name, span) for name, span, extras, _, _ in EXTRAS for extra in extras.split(", ")
    }
    assert listed == {
        (extra, *split(requirement))
        for extra, requirements in packaging["extras_require"].items()
        for requirement in requirements
    }


@pytest.mark.parametrize("name", LICENCES)
def test_licences_are_what_installed_packages_state(name: str) -> None:
    try:
        said = metadata.metadata(name.split("[")[0])
    except metadata.PackageNotFoundError:
        pytest.skip(f"{name} is not installed here")
    classifiers = [text for text in said.get_all("Classifier", []) if text.startswith("License")]
    stated = [*said.get_all("License-Expression", []), *said.get_all("License", [])]
    stated += [text.split(" :: ")[-1] for text in classifiers]
    # An expression begins with the licence of the package itself.
    words = [word for text in stated for word in (text, text.split(" AND ")[0])]
    assert set(words) & set(SPELLINGS[LICENCES[name]]), f"{name} states {stated}"


def test_the_shipped_code_imports_all_of_it_and_nothing_else() -> None:
    known = {MODULES.get(name, name): name for name in LICENCES}
    imported = {name for path in shipped_files() for name in imports(path)}
    others = imported - set(SHIPPED) - set(sys.stdlib_module_names)
    assert others <= set(known), f"not listed: {others - set(known)}"
    always = {MODULES.get(name, name) for name, *_ in ALWAYS}
    assert always <= others, f"installed, not imported: {always - others}"


def shipped_files() -> Iterator[Path]:
    for package in SHIPPED:
        yield from (ROOT / package).rglob("*.py")


def imports(path: Path) -> Iterator[str]:
    """Yield the top-level modules that a file imports."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None and not node.level:
            yield node.module.split(".")[0]
