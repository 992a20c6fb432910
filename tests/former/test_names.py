import pytest

from tests.former.names import names, refusal


@pytest.mark.parametrize("name", [name for name, _ in names()])
def test_a_name_works_or_says_what_to_do(name: str) -> None:
    refusal(name)


def test_most_names_work() -> None:
    assert len(names()) == 100
    assert sum(not refusal(name) for name, _ in names()) >= 93
