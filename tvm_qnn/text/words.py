"""Converts text to the tokens that a model reads, and back."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from qnn_ops.errors import QnnError, needed

TOKENIZER = "tokenizer.json"
_BYTES = 256


class ByteWords:
    """The tokens of a model that reads the bytes of UTF-8."""

    def encode(self, text: str) -> list[int]:
        """Return the bytes of a text."""
        return list(text.encode())

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of bytes; U+FFFD stands for bytes that are not a character."""
        return bytes(ids).decode(errors="replace")


class _FileWords:
    """Tokens that a file of the package tokenizers describes."""

    def __init__(self, file: Path) -> None:
        with needed(f"reading {TOKENIZER}", "tokenizers", "'tvm-qnn[text]'"):
            from tokenizers import Tokenizer
        try:
            self._tokenizer: Any = Tokenizer.from_file(str(file))
        except Exception as error:  # the package has no narrower class
            raise QnnError(f"{file} is no tokenizer: {error}") from error

    def encode(self, text: str) -> list[int]:
        return list(self._tokenizer.encode(text).ids)

    def decode(self, ids: Sequence[int]) -> str:
        return str(self._tokenizer.decode(list(ids)))


Words = ByteWords | _FileWords
"""Reads and writes the tokens of one model."""


def words_of(model: Path, vocabulary: int) -> Words:
    """Return the converter for a model's tokens.

    Args:
        model: its file, with ``tokenizer.json`` beside it, or a folder that has this file.
        vocabulary: the number of tokens. A model of 256 needs no file: its tokens are bytes.

    Raises:
        QnnError: if there is no such file, it cannot be read, or the package tokenizers is missing.
    """
    file = (model if model.is_dir() else model.parent) / TOKENIZER
    if file.is_file():
        return _FileWords(file)
    if vocabulary == _BYTES:
        return ByteWords()
    raise QnnError(f"text needs {TOKENIZER} beside {model}; without it, give numbers of tokens")
