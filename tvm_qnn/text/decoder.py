"""Runs a language model token by token, and keeps the keys and values of past tokens."""

import os
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from qnn_ops.errors import QnnError
from tvm_qnn.io.outputs import filling
from tvm_qnn.library.library import Library, load
from tvm_qnn.library.runtime import aligned_zeros
from tvm_qnn.text.names import COLUMNS, PAST
from tvm_qnn.text.sampling import Sampling
from tvm_qnn.text.step import WHOLE, Step

STEPS = ((1, False), (64, False), (256, True))
"""How many tokens each library of a decoder takes, and whether its step begins a text."""


class Decoder:
    """A language model, and the text that it has read; ``tvm_qnn.decoder`` makes it.

    The keys and values of the text stay in buffers of ``max_length`` tokens. Each step writes the
    keys and values of its own tokens into them. Only one thread at a time may use a decoder.
    """

    max_length: int
    """The most tokens that a text may have."""

    def __init__(self, libraries: Sequence[Library], *, is_whole: bool = False) -> None:
        """Begin with an empty text.

        Args:
            libraries: the libraries of steps that take different numbers of tokens.
            is_whole: whether a step needs all of its tokens.
        """
        past = {
            info.name: aligned_zeros(info.shape, info.dtype)
            for library in libraries
            for info in library.inputs
            if info.name.startswith(PAST)
        }
        name, buffer = next(iter(past.items()))
        self.max_length = buffer.shape[3 if name.endswith(COLUMNS) else 2]
        self._past = past
        steps = [Step(library, past, is_whole=is_whole) for library in libraries]
        self._steps = sorted(steps, key=lambda step: -step.size)
        self._length = 0
        self._pending: list[int] = []

    @property
    def vocabulary(self) -> int:
        """The number of different tokens."""
        return self._steps[0].vocabulary

    @property
    def length(self) -> int:
        """The number of tokens that the text has so far."""
        return self._length + len(self._pending)

    def reset(self) -> None:
        """Forget the text."""
        self._length, self._pending = 0, []

    def step(self, ids: Sequence[int] | np.ndarray) -> np.ndarray:
        """Read more tokens of the text.

        Args:
            ids: the tokens, at least one.

        Returns:
            The scores of the next token after each of them, float32 [tokens, vocabulary].

        Raises:
            QnnError: if a token is out of range, or the text gets longer than ``max_length``.
        """
        given = np.atleast_1d(np.asarray(ids))
        is_list = given.ndim == 1 and given.size and np.issubdtype(given.dtype, np.integer)
        if not is_list or given.min() < 0 or given.max() >= self.vocabulary:
            most = self.vocabulary - 1
            raise QnnError(f"decoder: a step takes some integers from 0 to {most}, got {ids!r}")
        if self.length + given.size > self.max_length:
            raise QnnError(
                f"decoder: {self.length} tokens and {given.size} more are beyond max_length, "
                f"{self.max_length}"
            )
        return self._read(given.astype(np.int64))

    def _read(self, given: np.ndarray) -> np.ndarray:
        """Read the token that ``generate`` wrote last, then the given ones; return their scores.

        If none are given, return the scores after the former.
        """
        tokens = np.concatenate([np.array(self._pending, np.int64), given])
        self._pending = []
        scores = []
        while tokens.size:
            step, count = self._choice(tokens.size)
            scores.append(step.run(tokens[:count], self._length))
            self._length += count
            tokens = tokens[count:]
        # A copy of a prompt's scores takes noticeable time.
        found = scores[0] if len(scores) == 1 else np.concatenate(scores)
        return found[-max(given.size, 1) :]

    def generate(
        self,
        ids: Sequence[int] | np.ndarray,
        max_new_tokens: int,
        temperature: float = 0.0,
        top_k: int | None = None,
        seed: int | None = None,
        *,
        stop: Collection[int] = (),
    ) -> list[int]:
        """Read tokens and write new ones after them; all of them become part of the text.

        Args:
            ids: the tokens that continue the text, at least one.
            max_new_tokens: how many to write at most.
            temperature: 0 for the most likely token each time. Above 0, tokens are chosen at random
                by the softmax of their scores divided by the temperature.
            top_k: how many of the most likely tokens may be chosen; None for all.
            seed: the seed of the random numbers; None for different numbers each time.
            stop: tokens that end the text.

        Returns:
            The new tokens; the last one may be in ``stop``.

        Raises:
            QnnError: if tokens or settings do not fit, or the text may get longer than
                ``max_length``.
        """
        return list(self.stream(ids, max_new_tokens, temperature, top_k, seed, stop=stop))

    def stream(
        self,
        ids: Sequence[int] | np.ndarray,
        max_new_tokens: int,
        temperature: float = 0.0,
        top_k: int | None = None,
        seed: int | None = None,
        *,
        stop: Collection[int] = (),
    ) -> Iterator[int]:
        """Yield the tokens of ``generate``, each as soon as it is known."""
        sampling = Sampling(temperature, top_k, seed)
        if max_new_tokens < 1:
            raise QnnError(f"generate: max_new_tokens must be at least 1, got {max_new_tokens}")
        whole = self.length + len(ids) + max_new_tokens
        if whole > self.max_length:
            raise QnnError(f"generate: {whole} tokens are beyond max_length, {self.max_length}")
        scores = self.step(ids)
        for count in range(max_new_tokens):
            if count:
                scores = self._read(np.zeros(0, np.int64))
            token = sampling.choose(scores[-1])
            self._pending = [token]
            yield token
            if token in stop:
                return

    def export(self, folder: str | os.PathLike[str]) -> None:
        """Write the decoder's libraries into a folder, from which ``tvm_qnn.decoder`` loads it.

        Raises:
            QnnError: as ``Library.export`` raises it.
        """
        Path(folder).mkdir(parents=True, exist_ok=True)
        with filling(Path(folder)) as inside:
            for step in self._steps:
                step.library.export(inside / step.file)

    def _hides_rest(self) -> bool:
        """Tell whether scores do not depend on the buffers' contents behind the text."""
        scores = []
        for content in (1, 0):
            for buffer in self._past.values():
                buffer[:] = content
            scores.append(self._steps[-1].run(np.zeros(1, np.int64), 0))
        return bool(np.array_equal(scores[0], scores[1], equal_nan=True))

    def _choice(self, count: int) -> tuple[Step, int]:
        """Return the next step, and how many of ``count`` tokens it takes."""
        room = self.max_length - self._length
        for step in self._steps:
            if step.is_for(count, self._length, room):
                return step, min(step.size, count)
        raise AssertionError("there is a step of one token")


def decoder(
    model: Any,
    target: Any = "host",
    *,
    max_length: int | None = None,
    num_threads: int | None = None,
) -> Decoder:
    """Return a decoder: a language model that reads and writes text token by token.

    The model's inputs are those of onnxruntime-genai's builder, with GroupQueryAttention or
    MultiHeadAttention, or those of Optimum: ``input_ids``, ``attention_mask``, ``position_ids``,
    and ``past_key_values.N.key`` and ``.value`` for each layer N. Its outputs are ``logits``, and
    ``present.N.key`` and ``.value``.

    Args:
        model: an ONNX model, as ``from_onnx`` takes it; or a folder that ``Decoder.export`` wrote,
            which needs no compiler.
        target: as for ``build``. If this machine cannot run it, the decoder can only be exported.
        max_length: the most tokens of a text: the size of its buffers, which each step reads. By
            default 512, or as many as the model has positions for.
        num_threads: as for ``build``.

    Raises:
        QnnError: if inputs or outputs are missing or unknown, the model reads tokens for which its
            mask has 0, or as ``build`` or ``load``.
    """
    if isinstance(model, str | os.PathLike) and Path(model).is_dir():
        files = sorted(Path(model).glob("*_*.so"))
        if not files:
            raise QnnError(f"no decoder in {model}: it has no libraries tokens_<number>.so")
        libraries = [load(file, num_threads=num_threads) for file in files]
        return Decoder(libraries, is_whole=files[0].name.startswith(WHOLE))
    from frontends.onnx import from_onnx
    from tvm_qnn.build import build
    from tvm_qnn.text.forms import read_form

    form = read_form(model)
    length = form.length(max_length)
    libraries = []
    for size, begins in STEPS:
        if size <= length and (form.begins or not begins):
            mod, params = from_onnx(*form.step(size, 0 if begins else length))
            libraries.append(build(mod, target, params, num_threads=num_threads))
    made = Decoder(libraries, is_whole=form.is_whole)
    if libraries[0].metadata.why_not_here() is None and not made._hides_rest():
        raise QnnError(
            "decoder: the scores depend on tokens for which attention_mask has 0, so that the past "
            "cannot lie in a buffer"
        )
    return made
