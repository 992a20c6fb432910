"""``TempOpAttr``: temporary changes of Relay's rewriting of operators; it has no effect today."""

from contextlib import AbstractContextManager, nullcontext
from typing import Any


def TempOpAttr(op_name: str, attr_key: str, attr_value: Any) -> AbstractContextManager[None]:
    """Return a context without effect: the build lowers operators."""
    del op_name, attr_key, attr_value
    return nullcontext()
