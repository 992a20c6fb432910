"""Prints answers as JSON."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from tvm_qnn.io.text import to_json

F = TypeVar("F", bound=Callable[..., Any])


def json_option(function: F) -> F:
    """Add --json, for programs that read the output."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON.")(function)


def print_json(value: Any) -> None:
    """Print plain Python values as JSON; numbers that are not finite become null."""
    click.echo(to_json(value, indent=2))
