"""Runs a language model token by token, with the keys and values of what it has read."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from qnn_ops.errors import QnnError
from tvm_qnn.io.outputs import filling
from tvm_qnn.library.library import Library, load
from tvm_qnn.library.runtime import aligned_zeros
from tvm_qnn.text.names import COLUMNS, IDS, LOGITS, MASK, NEW, PLACES
from tvm_qnn.text.sampling import Sampling

Array = np.ndarray[Any, Any]

STEPS = (1, 64)
"""How many tokens the libraries of a decoder take at a time."""
_WORTH = 8
"""A library of many tokens runs if at least this part of them is there: it takes as long as some
single ones."""


class Decoder:
    """A language model, and the text that it has read. Made by ``tvm_qnn.decoder``.

    The keys and values of the text stay in buffers of ``max_length`` tokens, into which each step
    writes those of its own tokens. One thread at a time may use a decoder.
    """

    max_length: int
    """The most tokens of a text."""

    def __init__(self, libraries: Sequence[Library]) -> None:
        """Begin with an empty text.

        Args:
            libraries: of steps that take different numbers of tokens.
        """
        self._libraries = {_shape(each, IDS)[1]: each for each in libraries}
        first = libraries[0]
        self._past = {
            info.name: aligned_zeros(info.shape, info.dtype)
            for info in first.inputs
            if info.name.startswith("past_key_values.")
        }
        name, buffer = next(iter(self._past.items()))
        self.max_length = buffer.shape[_axis(name)]
        self._length = 0
        self._pending: list[int] = []

    @property
    def length(self) -> int:
        """The number of tokens of the text so far."""
        return self._length + len(self._pending)

    def reset(self) -> None:
        """Forget the text."""
        self._length, self._pending = 0, []

    def step(self, ids: Sequence[int] | Array) -> Array:
        """Read more tokens of the text.

        Args:
            ids: the tokens, at least one.

        Returns:
            Scores of the token after each of them, float32 [tokens, vocabulary].

        Raises:
            QnnError: if the tokens are no integers, or the text gets longer than ``max_length``.
        """
        given = np.atleast_1d(np.asarray(ids))
        if given.ndim != 1 or not given.size or not np.issubdtype(given.dtype, np.integer):
            raise QnnError(f"decoder: a step takes some integers, got {ids!r}")
        if self.length + given.size > self.max_length:
            raise QnnError(
                f"decoder: {self.length} tokens and {given.size} more are beyond max_length, "
                f"{self.max_length}"
            )
        tokens = np.concatenate([np.array(self._pending, np.int64), given.astype(np.int64)])
        self._pending = []
        scores = []
        while tokens.size:
            size, count = self._choice(tokens.size)
            scores.append(self._run(self._libraries[size], tokens[:count], size))
            tokens = tokens[count:]
        return (scores[0] if len(scores) == 1 else np.concatenate(scores))[-given.size :]

    def generate(
        self,
        ids: Sequence[int] | Array,
        max_new_tokens: int,
        temperature: float = 0.0,
        top_k: int | None = None,
        seed: int | None = None,
        *,
        stop: Collection[int] = (),
    ) -> list[int]:
        """Read tokens and write new ones behind them, which are part of the text then.

        Args:
            ids: the tokens that the text goes on with, at least one.
            max_new_tokens: how many to write at most.
            temperature: 0 for the likeliest token each time; above it, tokens are chosen at random
                by the softmax of their scores divided by the temperature.
            top_k: how many of the likeliest tokens may be chosen; None for all.
            seed: of the random numbers; None for others each time.
            stop: tokens that end the text.

        Returns:
            The new tokens; the last one may be of ``stop``.

        Raises:
            QnnError: if tokens or settings do not fit, or the text may get longer than
                ``max_length``.
        """
        return list(self.stream(ids, max_new_tokens, temperature, top_k, seed, stop=stop))

    def stream(
        self,
        ids: Sequence[int] | Array,
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
        for _ in range(max_new_tokens):
            token = sampling.choose(self.step(ids)[-1])
            self._pending = [token]
            yield token
            if token in stop:
                return
            ids, self._pending = [token], []

    def export(self, folder: str | os.PathLike[str]) -> None:
        """Write the decoder's libraries into a new folder, which ``tvm_qnn.decoder`` takes.

        Raises:
            QnnError: if there is such a folder, or as ``Library.export``.
        """
        with filling(Path(folder)) as inside:
            for size, library in self._libraries.items():
                library.export(inside / f"tokens_{size}.so")

    def _choice(self, count: int) -> tuple[int, int]:
        """Return the size of the next step, and how many of so many tokens it takes."""
        room = self.max_length - self._length
        for size in sorted(self._libraries, reverse=True):
            if size <= room and (size == 1 or count * _WORTH >= size):
                return size, min(size, count)
        return 1, 1

    def _run(self, library: Library, tokens: Array, size: int) -> Array:
        """Run a step whose last tokens may be missing; return the scores of those that are there.

        What it gives of missing tokens lies behind the text, where no step reads it.
        """
        begin, end = self._length, self._length + len(tokens)
        given = {IDS: np.zeros((1, size), np.int64), **self._past}
        given[IDS][0, : len(tokens)] = tokens
        names = {info.name for info in library.inputs}
        if MASK in names:
            given[MASK] = np.ones((1, self.max_length + size), np.int64)
            given[MASK][0, begin : self.max_length] = 0
        if PLACES in names:
            given[PLACES] = np.arange(begin, begin + size)[None]
        found = library.run(given)
        for name, buffer in self._past.items():
            kept = name.removeprefix("past_key_values.").removesuffix(COLUMNS)
            new = found[f"present.{kept}{NEW}"][:, :, : len(tokens)]
            if name.endswith(COLUMNS):
                buffer[..., begin:end] = new.swapaxes(2, 3)
            else:
                buffer[:, :, begin:end] = new
        self._length = end
        scores: Array = found[LOGITS][0, : len(tokens)]
        return scores


def decoder(
    model: Any,
    target: Any = "host",
    *,
    max_length: int | None = None,
    num_threads: int | None = None,
) -> Decoder:
    """Return a decoder: a language model that reads and writes text token by token.

    The model's inputs are those that onnxruntime-genai's builder writes, with
    GroupQueryAttention, or Optimum's: ``input_ids``, ``attention_mask``, ``position_ids``, and
    ``past_key_values.N.key`` and ``.value`` for each layer N. Its outputs are ``logits``, and
    ``present.N.key`` and ``.value``.

    Args:
        model: an ONNX model, as ``from_onnx`` takes it; or a folder that ``Decoder.export`` wrote,
            for which no compiler is needed.
        target: as for ``build``; it must be able to run here, or the decoder can be exported only.
        max_length: the most tokens of a text: the size of its buffers, which each step reads. By
            default 512, or as many as the model has positions for.
        num_threads: as for ``build``.

    Raises:
        QnnError: if inputs or outputs are missing or unknown, or as ``build`` or ``load``.
    """
    if isinstance(model, str | os.PathLike) and Path(model).is_dir():
        files = sorted(Path(model).glob("tokens_*.so"))
        if not files:
            raise QnnError(f"no decoder in {model}: it has no libraries tokens_<number>.so")
        return Decoder([load(file, num_threads=num_threads) for file in files])
    from frontends.onnx import from_onnx
    from tvm_qnn.build import build
    from tvm_qnn.text.forms import read_form

    form = read_form(model)
    length = form.length(max_length)
    libraries = []
    for size in STEPS:
        if size <= length:
            mod, params = from_onnx(*form.step(size, length))
            libraries.append(build(mod, target, params, num_threads=num_threads))
    return Decoder(libraries)


def _shape(library: Library, name: str) -> tuple[Any, ...]:
    return next(info.shape for info in library.inputs if info.name == name)


def _axis(name: str) -> int:
    """Return the axis of a past's tokens."""
    return 3 if name.endswith(COLUMNS) else 2
