"""What tests need that export libraries."""

from __future__ import annotations

import shutil

import pytest

from tvm_qnn.target.linker import COMPILERS

needs_linker = pytest.mark.skipif(
    not any(map(shutil.which, COMPILERS)), reason="there is no C compiler to link with"
)
