"""Runs a language model token by token, and keeps the keys and values of past tokens."""

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from qnn_ops.errors import QnnError
from tvm_qnn.io.outputs import filling
from tvm_qnn.library.library import Library, load
from tvm_qnn.library.runtime import aligned_zeros
from tvm_qnn.text.names import COLUMNS, IDS, LOGITS, MASK, NEW, PAST, PLACES, PRESENT

STEPS = ((1, False), (64, False), (256, True))
"""How many tokens each library of a decoder takes, and whether its step begins a text."""


class Sampling:
    """Chooses tokens: the most likely at temperature 0, otherwise at random by probability."""

    def __init__(
        self, temperature: float = 0.0, top_k: int | None = None, seed: int | None = None
    ) -> None:
        """Begin a sequence of choices.

        Args:
            temperature: the number by which scores are divided.
            top_k: how many of the most likely tokens may be chosen; None for all.
            seed: the seed of the random numbers; None for different numbers each time.

        Raises:
            QnnError: if the temperature is negative or ``top_k`` is below 1.
        """
        if not temperature >= 0 or not np.isfinite(temperature):
            raise QnnError(f"generate: temperature must be 0 or more, got {temperature}")
        if top_k is not None and top_k < 1:
            raise QnnError(f"generate: top_k must be at least 1, got {top_k}")
        self._temperature, self._top_k = temperature, top_k
        self._rng = np.random.default_rng(seed)

    def choose(self, scores: np.ndarray) -> int:
        """Return a token; at temperature 0, the first of equal scores.

        Args:
            scores: the scores of all tokens, [vocabulary].
        """
        if not self._temperature:
            return int(scores.argmax())
        order = np.argsort(-scores, kind="stable")[: self._top_k]
        chances = scores[order].astype(np.float64) / self._temperature
        chances = np.exp(chances - chances[0]).cumsum()
        place = np.searchsorted(chances, self._rng.random() * chances[-1], side="right")
        return int(order[min(int(place), len(order) - 1)])


TOKENS, WHOLE = "tokens_", "whole_"
"""The beginnings of the names of the libraries' files."""
_WORTH = {False: 8, True: 2}
"""By whether a library begins a text: how many times as many tokens it may read as are there.

Beyond that, a few runs of a smaller library take less time.
"""


class Step:
    """A library that reads up to ``size`` tokens, with their keys and values in the buffers.

    If it ``begins``, it reads no past, and takes the first tokens of a text.
    """

    def __init__(
        self, library: Library, past: Mapping[str, np.ndarray], *, is_whole: bool = False
    ) -> None:
        """Bind a library.

        Args:
            library: a step's library; ``Form.step`` makes its model.
            past: buffers of keys and values by the names of its inputs.
            is_whole: whether it needs all of its tokens.
        """
        self.library, self._is_whole = library, is_whole
        self.begins = not any(info.name in past for info in library.inputs)
        own = {info.name: info for info in library.inputs if info.name not in past}
        self._inputs = {name: aligned_zeros(info.shape, info.dtype) for name, info in own.items()}
        self._out = {info.name: aligned_zeros(info.shape, info.dtype) for info in library.outputs}
        self.size, self.vocabulary = self._inputs[IDS].shape[1], self._out[LOGITS].shape[2]
        # The last axis of these buffers is that of tokens.
        self._kept: list[tuple[np.ndarray, np.ndarray]] = []
        for name, buffer in past.items():
            stem = name.removesuffix(COLUMNS).replace(PAST, PRESENT, 1)
            rows = buffer if name.endswith(COLUMNS) else buffer.swapaxes(2, 3)
            self._kept.append((rows, self._out[f"{stem}{NEW}"].swapaxes(2, 3)))
        if MASK in self._inputs:
            self._inputs[MASK][:] = 1
        self._run: Callable[[], None] | None = None
        self._past = {} if self.begins else past

    def is_for(self, count: int, begin: int, room: int) -> bool:
        """Tell whether this step can run next.

        Args:
            count: the number of tokens to read.
            begin: the number of tokens before them.
            room: the number of tokens for which the buffers have room.
        """
        if self.size > room or (self.begins and begin):
            return False
        if self._is_whole:
            return count >= self.size
        return self.size == 1 or count * _WORTH[self.begins] >= self.size

    @property
    def file(self) -> str:
        """The name of the library's file; it holds facts that the library itself does not have."""
        return f"{WHOLE if self._is_whole else TOKENS}{self.size}.so"

    def run(self, tokens: np.ndarray, begin: int) -> np.ndarray:
        """Return the scores of the next token after each token, [tokens, vocabulary].

        Tokens may be missing at the end of the step. Its results for them lie behind the text,
        where no step reads them.

        Args:
            tokens: at most ``size`` tokens.
            begin: the number of tokens before them.
        """
        count, inputs = len(tokens), self._inputs
        inputs[IDS][0, :count] = tokens
        if MASK in inputs:
            inputs[MASK][0, :begin] = 1
            inputs[MASK][0, begin : -self.size] = 0
        if PLACES in inputs:
            inputs[PLACES][0] = np.arange(begin, begin + self.size)
        if self._run is None:  # only now: a library for another machine can still be exported
            self._run = self.library.bind({**self._past, **inputs}, self._out)
        self._run()
        for buffer, new in self._kept:
            buffer[..., begin : begin + count] = new[..., :count]
        scores: np.ndarray = self._out[LOGITS][0, :count].copy()
        return scores


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
