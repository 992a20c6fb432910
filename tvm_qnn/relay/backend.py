"""``relay.backend``: the executors and runtimes of Relay's programs, which have no effect today."""

from collections.abc import Mapping
from typing import Any, NamedTuple


class Executor(NamedTuple):
    """An executor's name, such as "graph" or "aot", and its options."""

    name: str
    options: Mapping[str, Any] | None = None


class Runtime(NamedTuple):
    """A runtime's name, such as "cpp" or "crt", and its options."""

    name: str
    options: Mapping[str, Any] | None = None
