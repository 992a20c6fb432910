"""``relay.qnn.transform``: passes that rewrote quantized operators; they have no effect today."""

from collections.abc import Callable
from typing import Any

import tvm


def unchanged(name: str) -> Callable[..., tvm.transform.Pass]:
    """Return a function that makes a pass without effect, whatever its options are."""

    def make(*_options: Any, **_named: Any) -> tvm.transform.Pass:
        return tvm.transform.module_pass(lambda mod, _context: mod, opt_level=0, name=name)

    make.__name__ = make.__qualname__ = name
    return make


CanonicalizeOps = unchanged("CanonicalizeOps")
Legalize = unchanged("Legalize")
