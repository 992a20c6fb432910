"""``TempOpAttr``: what Relay rewrote an operator to for a while, which has no meaning today."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any


def TempOpAttr(op_name: str, attr_key: str, attr_value: Any) -> AbstractContextManager[None]:
    """Return a context that changes nothing: operators are lowered by the build."""
    del op_name, attr_key, attr_value
    return nullcontext()
