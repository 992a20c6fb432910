"""What tests need that export libraries."""

import shutil

import pytest

from tvm_qnn.target.linker import COMPILERS

_REASON = "there is no C compiler to link with"
_IS_MISSING = not any(map(shutil.which, COMPILERS))

needs_linker = pytest.mark.skipif(_IS_MISSING, reason=_REASON)


def need_linker() -> None:
    """Skip the test, or all that need the fixture, where nothing links."""
    if _IS_MISSING:
        pytest.skip(_REASON)
