import numpy as np
import pytest

pytest.importorskip("torch", reason="PyTorch is not installed")

from tests.support.decoders import SIZES
from tools.prose import train as training
from tools.prose.corpus import corpus


def test_training_lowers_the_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training, "HELD_OUT", 4 * SIZES.length)
    text = np.frombuffer(b"the quick brown fox " * 200, np.uint8)
    network = training.train(text, SIZES, minutes=0.1)
    assert training.held_out_bits(network, text) < 7.9  # 8.1 before


def test_the_corpus_has_both_sources() -> None:
    text = corpus().tobytes().decode()
    assert "## Speed" in text
    assert 'The "while" statement' in text
