"""A library that reads some tokens at a time, and uses a decoder's buffers directly."""

from collections.abc import Callable, Mapping

import numpy as np

from tvm_qnn.library.library import Library
from tvm_qnn.library.runtime import aligned_zeros
from tvm_qnn.text.names import COLUMNS, IDS, LOGITS, MASK, NEW, PAST, PLACES, PRESENT

TOKENS, WHOLE = "tokens_", "whole_"
"""The beginnings of the names of the libraries' files."""
_WORTH = {False: 8, True: 2}
"""By whether a library begins a text: it runs if at least one in this many of its tokens is there.
It takes as long as a few runs of a library of fewer tokens."""


class Step:
    """Reads up to ``size`` tokens, and writes their keys and values into the buffers.

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
