"""The documentation: everything that it links and names exists, and its lists are complete."""

import ast
import importlib
import importlib.util
import inspect
import re
from pathlib import Path
from types import ModuleType

import pytest

import frontends.mxnet.converters  # noqa: F401 (registers the rules)
import tvm_qnn
from frontends.mxnet.converters.context import CONVERTERS
from frontends.tflite.operators import codes_with
from qnn_ops.dialect.registry import OPERATORS, PREFIX
from tests.support.snippets import snippets
from tvm_qnn.cli import main

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md")),
    *(path for folder in ("", "guides", "reference") for path in (DOCS / folder).glob("*.md")),
]
PASSES = [
    each
    for user in map(importlib.import_module, ("legalize.lower", "legalize.pipeline"))
    for each in vars(user).values()
    if inspect.isfunction(each) and each.__module__.startswith("legalize.passes.")
    if each.__name__[0].isupper()
]
# Written by benchmarks.
MADE = {ROOT / "out"}


def extension(name: str) -> ModuleType:
    """Return one of the project's own extensions of Sphinx."""
    spec = importlib.util.spec_from_file_location(name, DOCS / "_ext" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def text_of(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_files_and_programs_are_there(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    prose = re.sub(r"```\w.*?```", "", text, flags=re.DOTALL)
    links = re.findall(r"\]\(([^)\s#]+)", prose)
    links = [link for link in links if not link.startswith("http")]
    paths = [page.parent / link for link in links]
    paths += [ROOT / name for name in re.findall(r"`((?:\w+/)+[\w.]*)`", prose)]
    assert {path for path in paths if not path.exists()} <= MADE
    programs = set(re.findall(r"python3? -m ([\w.]+)", text))
    assert all(importlib.util.find_spec(name) for name in programs)
    targets = set(re.findall(r"`make ([\w-]+)", text))
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert all(re.search(rf"^{target}:", makefile, re.MULTILINE) for target in targets)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_sections_that_links_name_are_there(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for file, section in re.findall(r"\]\(([\w./]*\.md|)#([^)\s]+)\)", text):
        goal = (page.parent / file if file else page).read_text(encoding="utf-8")
        assert section in {*map(slug, re.findall(r"^#+ (.*)$", goal, re.MULTILINE))}, file


def slug(heading: str) -> str:
    """Return the name of a section in links, as MyST and GitHub make it."""
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_commands_and_snippets_name_what_there_is(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    blocks = snippets(page)
    for each in blocks:
        if (block := each.text) and each.kind == "python":
            for module, names in re.findall(
                r"^ *from (tvm_qnn[\w.]*) import ([\w, ]+)$", block, re.M
            ):
                found = importlib.import_module(module)
                for name in names.split(", "):
                    alone = name.split(" as ")[0]
                    assert hasattr(found, alone) or importlib.util.find_spec(f"{module}.{alone}")
            named = re.findall(r"\bqnn\.([a-z]\w*)", block)
            assert all(hasattr(tvm_qnn, name) for name in named), named
    lines = [line for each in blocks for line in each.lines]
    lines += re.findall(r"`(tvm-qnn [^`]+)`", text)
    for line in lines:
        for part in re.split(r"&&|\|\|?|;", unquoted(line)):
            words = part.split()
            if "tvm-qnn" in (word.rpartition("/")[2] for word in words[:1]) and len(words) > 1:
                check_command(words[1:], line)


def unquoted(line: str) -> str:
    return re.sub(r"'[^']*'|\"[^\"]*\"", "x", line)


def check_command(words: list[str], line: str) -> None:
    """Check that a command and its options exist."""
    name, *rest = words
    if name.startswith("-") or not name.isalpha() or name.isupper():
        return
    command = main.commands.get(name)
    assert command is not None, line
    known = {"--help", *(option for each in command.params for option in each.opts)}
    for word in rest:
        if option := re.match(r"--?[a-z][\w-]*", word):
            assert option[0] in known, f"{line}: {option[0]}"


def test_concepts_name_every_pass() -> None:
    named = re.findall(r"^\| `(\w+)` \|", text_of("concepts.md"), re.MULTILINE)
    assert set(named) == {each.__name__ for each in PASSES}


def test_the_reference_has_every_pass_operator_and_name() -> None:
    modules = {each.__module__ for each in PASSES}
    listed = set(re.findall(r":: (legalize\.passes\.\w+)", text_of("reference/legalize.md")))
    assert modules <= listed
    operators = {name.removeprefix(PREFIX) for name in OPERATORS}
    text = extension("operator_table").with_operators(text_of("reference/qnn_ops.md"))
    assert set(re.findall(r"autofunction:: qnn_ops\.(\w+)", text)) == operators
    own = set(tvm_qnn.__all__) - operators
    assert own <= set(re.findall(r"\w+", text_of("reference/tvm_qnn.md")))


def test_the_page_of_operators_has_a_row_for_each() -> None:
    made = extension("operator_table")
    page = made.with_tables(text_of("operators.md"))
    assert "<!--" not in page
    rows = dict(re.findall(r"^\| `(\w[\w:]*)` \| (.*) \|$", page, re.MULTILINE))
    assert {name.removeprefix(PREFIX) for name in OPERATORS} | {*CONVERTERS} <= {*rows}
    assert {*codes_with("quantized", "data", "hybrid")} <= {*rows}
    assert rows["SOFTMAX"] == "`quantized_softmax`"
    assert rows["EMBEDDING_LOOKUP"] == "`counted_indices`"
    assert rows["RESHAPE"] == "Relax's own, on the integers"
    assert rows["quantized_prelu"] == "yes | – | –"
    assert "avx512vnni" in rows["quantized_conv2d"]


def test_every_tutorial_has_its_place_in_the_gallery() -> None:
    place = extension("reading_order").ReadingOrder("tutorials")
    names = [path.name for path in (ROOT / "tutorials").glob("*.py")]
    assert sorted(map(place, names)) == list(range(len(names)))


def test_charts_of_speed_show_the_tables(tmp_path: Path) -> None:
    speed = extension("speed_charts")
    tables = text_of("performance.md").partition("<!-- /speed -->")[0]
    found = speed.charts(text_of("performance.md"))
    assert len(found) == 5
    with_tiles, without = found[:2]
    assert (with_tiles.title + ", no AMX", with_tiles.models) == (without.title, without.models)
    rows = re.findall(r"^(\| [^|]+) \| [\d.]+ \| ([\d.]+ \(.*)", tables, re.MULTILINE)
    said = [(model, float(each)) for model, row in rows for each in re.findall(r"\(([.\d]+)", row)]
    drawn: list[tuple[str, float]] = []
    for chart in found:
        assert [*chart.times] == ["LiteRT", "OpenVINO"]
        for times in chart.times.values():
            ratios = (round(1 / time, 5) for time in times)
            drawn += zip((f"| {model}" for model in chart.models), ratios, strict=True)
        speed.draw(chart, tmp_path / "chart.svg")
        assert "<svg" in (tmp_path / "chart.svg").read_text(encoding="utf-8")
    assert len(drawn) > 80
    assert sorted(drawn) == sorted(said)
    page = speed.with_charts(text_of("performance.md"), found)
    assert page.count("](charts/") == 5
    assert "OpenVINO takes" in page


def test_a_table_of_speed_of_another_form_is_an_error() -> None:
    speed = extension("speed_charts")
    machine = "<!-- speed -->\n\nA board, commit 1a:\n\n"
    table = "| model | tvm-qnn | LiteRT |\n|---|---|---|\n| a | 1.0 | {} |\n\n<!-- /speed -->"
    (chart,) = speed.charts(machine + table.format("4.0 (0.25)"))
    assert (chart.title, chart.models, chart.times) == ("board", ("a",), {"LiteRT": (4.0,)})
    assert speed.charts(machine + table.format("–"))[0].times == {"LiteRT": (None,)}
    with pytest.raises(ValueError, match="a table of speed has 'fast', not a time and a ratio"):
        speed.charts(machine + table.format("fast"))
    for text in ("", "<!-- speed -->\n\n" + table.format("4.0 (0.25)")):
        with pytest.raises(ValueError, match="the machines above them, are missing"):
            speed.charts(text)


def test_commands_are_in_the_reference() -> None:
    assert ".. click:: tvm_qnn.cli.program:main" in text_of("reference/commands.md")
    assert ":nested: full" in text_of("reference/commands.md")


def test_the_reference_has_what_tutorials_import() -> None:
    documented = {
        name
        for path in (DOCS / "reference").glob("*.md")
        for name in re.findall(r"^\.\. auto\w+:: ([\w.]+)", path.read_text("utf-8"), re.MULTILINE)
    }
    imported = {
        (node.module, alias.name)
        for path in (ROOT / "tutorials").glob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and node.module and not node.level
        for alias in node.names
        if node.module.split(".")[0] in ("qnn_ops", "legalize", "frontends", "tvm_qnn")
    }
    missing = {
        f"{module}.{name}"
        for module, name in imported
        if not {module, f"{module}.{name}"} & documented
    }
    assert missing == set()


def test_pages_are_mended_once() -> None:
    accessible = extension("accessible")
    page = "\n".join(accessible.MENDED)
    mended = accessible.mended(page)
    assert not any(fault in mended for fault in accessible.MENDED)
    assert mended.count("tabindex") == 2
    assert accessible.mended(mended) == mended
