"""Answers as JSON."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from tvm_qnn.io.text import to_json

F = TypeVar("F", bound=Callable[..., Any])


def json_option(function: F) -> F:
    """Add --json, for programs that read the answer."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON.")(function)


def print_json(value: Any) -> None:
    """Print plain Python values as JSON; what is no finite number is null."""
    click.echo(to_json(value, indent=2))
