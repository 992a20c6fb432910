"""Text from elsewhere, such as names in a model or lines of a file, made fit to be shown."""

from __future__ import annotations

import unicodedata

# Controls (ANSI sequences among them), marks that turn writing around, halves of characters, ends
# of lines and paragraphs.
_HIDDEN = frozenset(("Cc", "Cf", "Cs", "Zl", "Zp"))

# Joiners, which several scripts and many emoji need.
_JOINERS = frozenset("\u200c\u200d")


def visible(text: str, kept: str = "") -> str:
    r"""Write what cannot be seen, or acts on a terminal, as Python does: ``\x1b``.

    Args:
        text: any.
        kept: characters that stay as they are.
    """
    return "".join(
        char if char in kept or not _is_hidden(char) else char.encode("unicode_escape").decode()
        for char in text
    )


def _is_hidden(char: str) -> bool:
    return unicodedata.category(char) in _HIDDEN and char not in _JOINERS
