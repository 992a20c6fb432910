"""A library that reads some tokens at a time, bound to a decoder's buffers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tvm_qnn.library.library import Library
from tvm_qnn.library.runtime import aligned_zeros
from tvm_qnn.text.names import COLUMNS, IDS, LOGITS, MASK, NEW, PAST, PLACES, PRESENT

Array = np.ndarray[Any, Any]


TOKENS, WHOLE = "tokens_", "whole_"
"""How the names of the libraries' files begin."""
_WORTH = {False: 8, True: 2}
"""A library runs if at least this part of its tokens is there, by whether it begins a text. It
takes as long as a few runs of a library of less tokens."""


class Step:
    """Reads up to ``size`` tokens, and writes their keys and values into the buffers.

    One that ``begins`` reads no past: it takes the first tokens of a text.
    """

    def __init__(
        self, library: Library, past: Mapping[str, Array], *, is_whole: bool = False
    ) -> None:
        """Bind a library.

        Args:
            library: of a step, as ``Form.step`` makes its model.
            past: buffers of keys and values by the names of its inputs.
            is_whole: whether none of its tokens may be missing.
        """
        self.library, self._is_whole = library, is_whole
        self.begins = not any(info.name in past for info in library.inputs)
        own = {info.name: info for info in library.inputs if info.name not in past}
        self._inputs = {name: aligned_zeros(info.shape, info.dtype) for name, info in own.items()}
        self._out = {info.name: aligned_zeros(info.shape, info.dtype) for info in library.outputs}
        self.size, self.vocabulary = self._inputs[IDS].shape[1], self._out[LOGITS].shape[2]
        # Tokens of a buffer are its last axis here.
        self._kept: list[tuple[Array, Array]] = []
        for name, buffer in past.items():
            stem = name.removesuffix(COLUMNS).replace(PAST, PRESENT, 1)
            rows = buffer if name.endswith(COLUMNS) else buffer.swapaxes(2, 3)
            self._kept.append((rows, self._out[f"{stem}{NEW}"].swapaxes(2, 3)))
        if MASK in self._inputs:
            self._inputs[MASK][:] = 1
        self._run: Callable[[], None] | None = None
        self._past = {} if self.begins else past

    def is_for(self, count: int, begin: int, room: int) -> bool:
        """Tell whether to run it next.

        Args:
            count: tokens that are to be read.
            begin: how many there are before them.
            room: for how many more there are buffers.
        """
        if self.size > room or (self.begins and begin):
            return False
        if self._is_whole:
            return count >= self.size
        return self.size == 1 or count * _WORTH[self.begins] >= self.size

    @property
    def file(self) -> str:
        """The name of the library's file, which says what the library itself does not."""
        return f"{WHOLE if self._is_whole else TOKENS}{self.size}.so"

    def run(self, tokens: Array, begin: int) -> Array:
        """Return the scores of the token after each, [tokens, vocabulary].

        Tokens may be missing at the end of the step. What it gives for them lies behind the text,
        where no step reads it.

        Args:
            tokens: at most ``size``.
            begin: how many there are before them.
        """
        count, inputs = len(tokens), self._inputs
        inputs[IDS][0, :count] = tokens
        if MASK in inputs:
            inputs[MASK][0, :begin] = 1
            inputs[MASK][0, begin : -self.size] = 0
        if PLACES in inputs:
            inputs[PLACES][0] = np.arange(begin, begin + self.size)
        if self._run is None:  # at first use, as a library for another machine can be exported
            self._run = self.library.bind({**self._past, **inputs}, self._out)
        self._run()
        for buffer, new in self._kept:
            buffer[..., begin : begin + count] = new[..., :count]
        scores: Array = self._out[LOGITS][0, :count].copy()
        return scores
