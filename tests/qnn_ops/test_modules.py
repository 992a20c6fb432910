import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from qnn_ops.modules import Rules, import_modules


def test_every_module_of_a_package_is_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "package_for_test"
    (package / "folder").mkdir(parents=True)
    (package / "__init__.py").write_text("found = []")
    for name in ("second", "first", "folder/third", "folder/__init__"):
        (package / f"{name}.py").write_text(
            f"from package_for_test import found\nfound += ['{name}']"
        )
    monkeypatch.syspath_prepend(tmp_path)
    before = set(sys.modules)
    import package_for_test  # type: ignore[import-not-found]

    assert package_for_test.found == []
    import_modules("package_for_test")
    assert package_for_test.found == ["first", "folder/__init__", "folder/third", "second"]
    for name in set(sys.modules) - before:
        del sys.modules[name]


def test_a_rule_enters_the_table_under_each_name() -> None:
    table = Rules[str, Callable[[], int]]()

    @table.of("one", "other")
    def rule() -> int:
        return 1

    assert table == {"one": rule, "other": rule}
