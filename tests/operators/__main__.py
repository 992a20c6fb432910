"""Writes docs/operators_by_type.md: python -m tests.operators."""

from pathlib import Path

from tests.operators.table import page

PAGE = Path(__file__).parents[2] / "docs" / "operators_by_type.md"

if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
