"""The page of operators by type agrees with the code and with LiteRT."""

from frontends.tflite.schema import OPERATORS
from tests.operators.__main__ import PAGE
from tests.operators.examples import CODES
from tests.operators.table import OTHERS, RECURRENT, imported, known_to_litert, page
from tests.operators.weighted import WEIGHTED_CODES

SHOWN = {*CODES, *WEIGHTED_CODES, *RECURRENT, *OTHERS}


def test_the_page_is_what_both_say_now() -> None:
    assert PAGE.read_text("utf-8") == page(), "write it anew: python -m tests.operators"


def test_every_operator_that_litert_has_is_on_the_page() -> None:
    no_operators = {"CUSTOM", "DELEGATE", "PLACEHOLDER_FOR_GREATER_OP_CODES"}
    missing = {*OPERATORS} - SHOWN - no_operators
    assert not {code for code in missing if known_to_litert(code)}


def test_every_operator_that_is_imported_is_on_the_page() -> None:
    assert {code for code in imported() if not code.startswith("CUSTOM:")} <= SHOWN
