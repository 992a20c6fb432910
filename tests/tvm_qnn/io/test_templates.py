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


def test_a_missing_fact_is_an_error(package: str) -> None:
    with pytest.raises(KeyError, match="items"):
        filled(package, "outer", {"a": "A", "yes": True})
