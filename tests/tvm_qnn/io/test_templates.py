from pathlib import Path
from typing import Any

import pytest

from tvm_qnn.io.templates import filled

OUTER = """\
${a}
%if yes
yes
%end yes
%unless yes
no
%end yes
%each items
${name} of ${a}
%if is_last
$$last
%end is_last
%end items
%include inner
"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    folder = tmp_path / "with_templates" / "templates"
    folder.mkdir(parents=True)
    (folder.parent / "__init__.py").touch()
    (folder / "outer").write_text(OUTER)
    (folder / "inner").write_text("%unless yes\ninner ${a}\n%end yes\n")
    monkeypatch.syspath_prepend(tmp_path)
    return "with_templates"


def test_lines_stay_repeat_or_go(package: str) -> None:
    items = [{"name": "$a", "is_last": False}, {"name": "c", "is_last": True}]
    facts: dict[str, Any] = {"a": "A", "yes": [1], "items": items}
    assert filled(package, "outer", facts) == "A\nyes\n$a of A\nc of A\n$last\n"
    assert filled(package, "outer", {"a": "A", "yes": 0, "items": ()}) == "A\nno\ninner A\n"


def test_a_value_with_the_lines_of_a_template_stays_text(package: str) -> None:
    value = "%if yes\n${a}\n%end yes\n%include inner\n"
    for yes, lines in ((True, "yes\n"), (False, "no\n")):
        facts = {"a": value, "yes": yes, "items": [{"name": value, "is_last": False}]}
        inner = "" if yes else f"inner {value}\n"
        text = f"{value}\n{lines}{value} of {value}\n{inner}"
        assert filled(package, "outer", facts) == text


def test_a_missing_fact_is_an_error(package: str) -> None:
    with pytest.raises(KeyError, match="items"):
        filled(package, "outer", {"a": "A", "yes": True})
