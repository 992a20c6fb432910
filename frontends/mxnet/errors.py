"""Errors of the MXNet importer."""

from frontends.errors import ModelFormatError


class MXNetFormatError(ModelFormatError):
    """A symbol or parameter file of MXNet is malformed; the message names file and byte."""


def format_error(source: str, offset: int, problem: str) -> MXNetFormatError:
    """Return an error at one byte of a file.

    Args:
        source: the file's name in messages.
        offset: the byte, counted from 0, at which the reader was.
        problem: what is wrong there.
    """
    return MXNetFormatError(f"{source}, byte {offset}: {problem}")
