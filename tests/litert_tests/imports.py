"""Import lines of LiteRT's tests, changed to those of a package and of stand-ins."""

from tests.support.peer_tests import with_changes

_STAND_INS = "from tests.litert_tests.stand_ins import"
CHANGES = (
    (r"import tensorflow as tf", f"{_STAND_INS} tf"),
    (r"from tflite\.python import lite", f"{_STAND_INS} lite"),
    (r"from tflite\.python\.metrics import metrics", f"{_STAND_INS} metrics"),
    (r"from tflite\.python\.testdata import \w+ as (\w+)", rf"{_STAND_INS} \1"),
    (r"from tensorflow\.python\.\w+ import (\w+)", rf"{_STAND_INS} \1"),
)
"""Pairs of a regular expression for a line and the text that replaces it."""


def changed(source: str, package: str) -> str:
    """Return the tests with their import lines changed; the interpreter is that of a package."""
    line = r"from tflite\.python import interpreter as"
    return with_changes(source, ((line, f"from {package} import interpreter as"), *CHANGES))
