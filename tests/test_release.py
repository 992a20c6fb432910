"""What a release consists of: one version everywhere, and an sdist with the whole tree."""

import re
import runpy
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import pytest

import tvm_qnn
from tests.test_wheel import LEFT_OUT, ROOT, why_not

MADE = {"PKG-INFO", "setup.cfg"}
SDIST = "import sys; from setuptools.build_meta import build_sdist; build_sdist(sys.argv[1])"
HOME = "https://example.org/tvm-qnn"


def test_the_version_is_one_everywhere() -> None:
    version = tvm_qnn.__version__
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    found = re.search(r"^## \[(\S+)\]", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    assert found is not None
    assert found[1] == version


def packaging(home: str, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.setenv("TVM_QNN_HOME", home)
    return runpy.run_path(str(ROOT / "setup.py"))


def test_links_of_the_description_go_home_or_are_text(monkeypatch: pytest.MonkeyPatch) -> None:
    said = packaging(f"{HOME}/", monkeypatch)
    text = said["page"]("README.md")
    targets = re.findall(r"\]\(([^)]+)\)", text)
    assert all(target.startswith(("https://", "#")) for target in targets)
    at_home = f"{HOME}/blob/v{tvm_qnn.__version__}/"
    files = {target.removeprefix(at_home).partition("#")[0] for target in targets if HOME in target}
    assert {"LICENSE", "CONTRIBUTING.md"} <= files
    assert all((ROOT / file).is_file() for file in files)
    assert said["ABOUT"]["project_urls"]["Issues"] == f"{HOME}/issues"
    said = packaging("", monkeypatch)
    assert said["ABOUT"]["project_urls"] == {}
    assert "CONTRIBUTING.md has the house rules" in said["page"]("README.md")


@pytest.mark.skipif(why_not() is not None, reason=f"no sdist is built: {why_not()}")
def test_the_sdist_is_the_whole_tree(tmp_path: Path) -> None:
    source = tmp_path / "source"
    made = (".git", ".venv*", ".*_cache", ".hypothesis", ".benchmarks", "*.pyc")
    ignored = shutil.ignore_patterns(*({*LEFT_OUT} - {"fixtures", ".*"}), *made)
    shutil.copytree(ROOT, source, ignore=ignored)
    made_by_docs = ("docs/sg_execution_times.rst",)
    expected = {
        path.relative_to(source).as_posix()
        for path in source.rglob("*")
        if path.is_file()
        and not any(each in path.as_posix() for each in ("docs/charts", "docs/tutorials"))
    } - {*made_by_docs, ".git"}
    done = subprocess.run(
        [sys.executable, "-c", SDIST, str(tmp_path)],
        cwd=source,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    (archive,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(archive) as opened:
        names = {
            name.partition("/")[2]
            for name in opened.getnames()
            if not opened.getmember(name).isdir()
        }
    names = {name for name in names if ".egg-info/" not in name}
    assert names - MADE == expected
