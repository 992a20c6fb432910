"""Prints answers as JSON."""

from __future__ import annotations

from typing import Any

import click

from tvm_qnn.io.text import to_json

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
"""Adds --json, for programs that read the output."""


def print_json(value: Any) -> None:
    """Print plain Python values as JSON; numbers that are not finite become null."""
    click.echo(to_json(value, indent=2))
