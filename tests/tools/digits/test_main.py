from pathlib import Path

import numpy as np

from tests.support.digits import predictions
from tools.digits import network
from tools.digits.__main__ import write
from tools.digits.train import Digits, load_split, train
from tvm_qnn import digits


def test_the_committed_models_predict_what_the_float_network_does(tmp_path: Path) -> None:
    training, held_out = load_split()
    retrained = train(training)  # as the committed models were
    pictures, labels = digits.held_out()
    data = Digits(pictures, labels)
    assert network.accuracy(retrained, data.real(), labels) >= 0.98
    wanted = network.run(retrained, data.real())["logits"].argmax(1)
    for style in digits.STYLES:
        # 8 bits tip a decision only where two digits are nearly tied, a few pictures in 450. Not
        # the bytes of a fresh model are compared: those may differ where a BLAS sums in another
        # order or numpy draws other random numbers.
        assert np.mean(predictions(digits.model(style), pictures, style) == wanted) >= 0.985, style
    # Writing again gives the same bytes.
    for folder in (tmp_path / "a", tmp_path / "b"):
        write(folder, retrained, training, held_out)

    names = sorted(path.name for path in (tmp_path / "a").iterdir())
    assert names == ["digits_int8.tflite", "digits_uint8.tflite", "held_out.npz"]
    for name in names:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
