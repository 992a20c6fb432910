from __future__ import annotations

import shutil

import pytest

from tvm_qnn.target.linker import COMPILERS


@pytest.fixture
def linker() -> None:
    if not any(map(shutil.which, COMPILERS)):
        pytest.skip("there is no C compiler to link with")
