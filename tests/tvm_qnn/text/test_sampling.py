import numpy as np

from tvm_qnn.text.sampling import Sampling


def test_the_likeliest_and_first_of_equals_are_drawn() -> None:
    assert Sampling().choose(np.array([1, 3, 3, 2], np.float32)) == 1
    sampling = Sampling(0.5, None, 1)
    scores = np.log(np.array([4, 2, 1, 1], np.float32)) / 2  # probabilities at temperature 0.5
    counts = np.bincount([sampling.choose(scores) for _ in range(8000)], minlength=4)
    np.testing.assert_allclose(counts / 1000, [4, 2, 1, 1], atol=0.2)
    sampling = Sampling(100.0, 2, 1)
    assert {sampling.choose(np.array([0, 3, 1, 2], np.float32)) for _ in range(100)} == {1, 3}
