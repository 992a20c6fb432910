"""Text, token by token, against ONNX Runtime."""

from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tvm_qnn as qnn
from qnn_ops.errors import QnnError
from tests.support.decoders import PROMPT, SIZES, OnRuntime, grouped, plain
from tests.support.processes import printed
from tvm_qnn.text.decoder import Sampling

pytestmark = pytest.mark.filterwarnings("ignore::tvm_qnn.LeftInFloatWarning")

FORMS: dict[str, Callable[[], Any]] = {
    "grouped": grouped,
    "plain": plain,
    "MultiHeadAttention": partial(plain, attention="MultiHeadAttention"),
    "Attention": partial(plain, attention="Attention"),
}


@cache
def built(form: str) -> tuple[Any, qnn.Decoder]:
    model = FORMS[form]()
    return model, qnn.decoder(model, max_length=80, num_threads=1)


@pytest.fixture(params=[*FORMS])
def both(request: pytest.FixtureRequest) -> tuple[OnRuntime, qnn.Decoder]:
    model, decoder = built(request.param)
    decoder.reset()
    return OnRuntime(model), decoder


def tokens(count: int, vocabulary: int = 64) -> list[int]:
    return np.random.default_rng(count).integers(0, vocabulary, count).tolist()


def test_tokens_are_onnx_runtimes(both: tuple[OnRuntime, qnn.Decoder]) -> None:
    runtime, decoder = both
    prompt = [each % 64 for each in PROMPT]
    assert decoder.generate(prompt, 60) == runtime.generate(prompt, 60)
    assert decoder.length == 65


@pytest.mark.parametrize("parts", [[1, 1, 3], [7, 1, 40], [64, 9], [73]], ids=str)
def test_scores_do_not_depend_on_how_a_text_is_read(
    both: tuple[OnRuntime, qnn.Decoder], parts: list[int]
) -> None:
    runtime, decoder = both
    text = tokens(sum(parts))
    expected = runtime.step(text)
    found, begin = [], 0
    for part in parts:
        found.append(decoder.step(text[begin : begin + part]))
        begin += part
    # Sums of floats have another order.
    np.testing.assert_allclose(np.concatenate(found), expected, atol=1e-4)


def test_a_long_prompt_is_read_without_a_past() -> None:
    text = tokens(300, 256)
    model = grouped_of_length(400)
    decoder = qnn.decoder(model, num_threads=1)
    assert decoder.max_length == 400
    np.testing.assert_allclose(decoder.step(text), OnRuntime(model).step(text), atol=1e-4)


def grouped_of_length(length: int) -> Any:
    from dataclasses import replace

    from tools.prose.export import float_model, random_weights

    sizes = replace(SIZES, length=length)
    return float_model(sizes, random_weights(sizes, 1))


def test_a_text_goes_on_until_reset_or_a_token_of_stop() -> None:
    model, decoder = built("grouped")
    decoder.reset()
    first = decoder.generate(PROMPT, 4)
    again = decoder.generate([1, 2], 4)
    assert again == OnRuntime(model).generate([*PROMPT, *first, 1, 2], 4)
    scores = decoder.step([3])
    assert scores.shape == (1, SIZES.vocabulary)
    assert decoder.length == len(PROMPT) + 4 + 2 + 4 + 1
    _, decoder = built("grouped")
    decoder.reset()
    first = decoder.generate(PROMPT, 10)
    decoder.reset()
    assert decoder.length == 0
    assert decoder.generate(PROMPT, 10) == first
    _, decoder = built("grouped")
    decoder.reset()
    whole = decoder.generate(PROMPT, 12)
    decoder.reset()
    ended = decoder.generate(PROMPT, 12, stop=[whole[3]])
    assert ended == whole[: whole.index(whole[3]) + 1]


def test_seeds_decide_what_is_drawn() -> None:
    _, decoder = built("grouped")

    def drawn(**settings: Any) -> list[int]:
        decoder.reset()
        return decoder.generate(PROMPT, 20, **settings)

    assert drawn(temperature=2.0, seed=1) == drawn(temperature=2.0, seed=1)
    assert drawn(temperature=2.0, seed=1) != drawn(temperature=2.0, seed=2)
    assert drawn(temperature=2.0, seed=1, top_k=1) == drawn()


def test_an_exported_decoder_runs_without_the_compiler(tmp_path: Path) -> None:
    _, decoder = built("grouped")
    decoder.reset()
    expected = decoder.generate(PROMPT, 10)
    decoder.export(tmp_path / "decoder")
    program = (
        "import sys, tvm_qnn\n"
        f"decoder = tvm_qnn.decoder({str(tmp_path / 'decoder')!r}, num_threads=1)\n"
        f"print(decoder.generate({PROMPT}, 10))\n"
        "print([name for name in ('tvm', 'onnx') if name in sys.modules])"
    )
    assert printed(program).splitlines() == [str(expected), "[]"]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda d: d.step([]), "takes some integers from 0 to 255, got \\[\\]"),
        (lambda d: d.step([0.5]), "takes some integers from 0 to 255"),
        (lambda d: d.step([256]), "takes some integers from 0 to 255, got \\[256\\]"),
        (lambda d: d.step([1] * 81), "0 tokens and 81 more are beyond max_length, 80"),
        (lambda d: d.generate([1], 80), "81 tokens are beyond max_length, 80"),
        (lambda d: d.generate([1], 0), "max_new_tokens must be at least 1, got 0"),
        (lambda d: d.generate([1], 1, temperature=-1.0), "temperature must be 0 or more"),
        (lambda d: d.generate([1], 1, top_k=0), "top_k must be at least 1, got 0"),
    ],
)
def test_what_does_not_fit_is_an_error(call: Callable[[qnn.Decoder], object], message: str) -> None:
    _, decoder = built("grouped")
    decoder.reset()
    with pytest.raises(QnnError, match=message):
        call(decoder)
    assert decoder.length == 0


def test_other_models_and_folders_are_refused(tmp_path: Path) -> None:
    with pytest.raises(QnnError, match="depend on tokens for which attention_mask has 0"):
        qnn.decoder(plain(hides=False), max_length=8, num_threads=1)
    with pytest.raises(QnnError, match=r"it has no libraries tokens_<number>\.so"):
        qnn.decoder(tmp_path)


def test_the_likeliest_and_first_of_equals_are_drawn() -> None:
    assert Sampling().choose(np.array([1, 3, 3, 2], np.float32)) == 1
    sampling = Sampling(0.5, None, 1)
    scores = np.log(np.array([4, 2, 1, 1], np.float32)) / 2  # probabilities at temperature 0.5
    counts = np.bincount([sampling.choose(scores) for _ in range(8000)], minlength=4)
    np.testing.assert_allclose(counts / 1000, [4, 2, 1, 1], atol=0.2)
    sampling = Sampling(100.0, 2, 1)
    assert {sampling.choose(np.array([0, 3, 1, 2], np.float32)) for _ in range(100)} == {1, 3}
