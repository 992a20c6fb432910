import pytest

from tests.support.linking import need_linker


@pytest.fixture
def linker() -> None:
    need_linker()
