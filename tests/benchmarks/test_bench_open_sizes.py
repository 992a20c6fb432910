import pytest

from benchmarks.bench_open_sizes import main
from tests.support.commands import said
from tvm_qnn import digits, zoo


def sizes_timed(sizes: list[str], *words: str) -> str:
    """Return what is said; each size has a row."""
    asked = [word for size in sizes for word in ("--size", size)]
    text = said(main, [*words, *asked, "--rounds", "1", "--seconds", "0.01"])
    assert [line.split()[1] for line in text.splitlines() if line[:1] == "│"] == sizes
    return text


@pytest.mark.parametrize("model", ["dense", "encoder"])
def test_each_size_is_timed(model: str) -> None:
    text = sizes_timed(["1", "5"], "--model", model, "--width", "32")
    assert "processor seconds of a build: " in text


def test_networks_of_pictures_take_a_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zoo, "build", lambda _name, style: digits.model(style))
    sizes_timed(["2"], "--model", "mobilenet_v2")
