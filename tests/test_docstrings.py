"""Docstrings speak one dialect, where ruff has no rule for it."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.errors import giving

ROOT = Path(__file__).parents[1]
FOLDERS = (
    *("benchmarks", "docs", "frontends", "legalize", "qnn_ops"),
    *("tests", "tools", "tutorials", "tvm_qnn"),
)

# A property's or a class's docstring may begin so; a function does something.
QUESTION = re.compile(r"(What|Whether|How|Which|Where|When|Why|Whose)\b")
SECTION = re.compile(r"^(?:Args|Attributes|Raises):\n((?: .*\n|\n)+)", re.MULTILINE)
ENTRY = re.compile(r"^    \*{0,2}(\w+): (\S+)", re.MULTILINE)
# A word, but no acronym and no name with capitals or digits within.
CAPITALIZED = re.compile(r"(A|[A-Z][a-z]+)(?:'s)?[.,:;]?$")
NAMES = {"None", "True", "False", "Linux", "Python", "Relax", "Sphinx"}

Documented = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def faults(code: str) -> Iterator[str]:
    """Yield the faults of a module's docstrings, each with its line."""
    for node in ast.walk(ast.parse(code)):
        if not isinstance(node, Documented) or not (text := ast.get_docstring(node)):
            continue
        where = f"{node.body[0].lineno}: {node.name}"
        if not isinstance(node, ast.ClassDef) and QUESTION.match(text) and not _is_property(node):
            yield f"{where} begins with {text.split()[0]!r}"
        for section in SECTION.findall(f"{text}\n"):
            for name, word in ENTRY.findall(section):
                if CAPITALIZED.match(word) and word.rstrip(".,:;") not in NAMES:
                    yield f"{where}: {name} goes on with {word!r}"


def _is_property(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return any("property" in ast.unparse(one) for one in node.decorator_list)


def _function(docstring: str) -> str:
    return f'def f(x):\n    """{docstring}"""\n'


test_faults_are_found = giving(
    lambda code: [*faults(code)],
    (_function("Return x."), []),
    (_function("What x is."), ["2: f begins with 'What'"]),
    (f"@property\n{_function('Whether x is.')}", []),
    ('class A:\n    """What x is."""\n', []),
    (_function("Do.\n\n    Args:\n        x: A number.\n    "), ["2: f: x goes on with 'A'"]),
    (_function("Do.\n\n    Args:\n        x: NHWC data.\n        *y: None.\n    "), []),
    (
        _function("Do.\n\n    Raises:\n        ValueError: The number.\n    "),
        ["2: f: ValueError goes on with 'The'"],
    ),
    (_function("Do.\n\n    Example:\n        x: The number.\n    "), []),
)


@pytest.mark.parametrize("folder", FOLDERS)
def test_docstrings_have_none(folder: str) -> None:
    files = sorted((ROOT / folder).rglob("*.py"))
    assert files
    assert not [
        f"{file.relative_to(ROOT)}:{fault}"
        for file in files
        for fault in faults(file.read_text(encoding="utf-8"))
    ]
