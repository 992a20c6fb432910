"""Attributes of MXNet's operators: every spelling, and one error for anything else."""

from collections.abc import Callable
from typing import Any

import pytest

from frontends.mxnet.attributes import Attributes
from tests.support.errors import fails, giving


@pytest.mark.parametrize("text", ["true", "True", "1"])
def test_true_in_every_spelling(text: str) -> None:
    assert Attributes({"no_bias": text}).flag("no_bias") is True


@pytest.mark.parametrize("text", ["false", "False", "0"])
def test_false_in_every_spelling(text: str) -> None:
    assert Attributes({"no_bias": text}).flag("no_bias", True) is False


test_lists_in_every_spelling = giving(
    lambda text: Attributes({"kernel": text}).integers("kernel"),
    ("(3, 3)", (3, 3)),
    ("[3,3]", (3, 3)),
    ("(2,)", (2,)),
    ("()", ()),
    ("7", (7,)),
    ("(3L,)", (3,)),
)


def test_ends_of_slices_may_be_none() -> None:
    assert Attributes({"end": "(None, 3)"}).optional_integers("end") == (None, 3)


def test_none_is_as_good_as_missing() -> None:
    attrs = Attributes({"a": "None"})
    assert not attrs.has("a")
    assert attrs.flag("a", True) is True
    assert attrs.integer("a", 3) == 3
    assert attrs.real("b", 0.5) == 0.5
    assert attrs.integers("a", (1, 1)) == (1, 1)
    assert attrs.text("b", "valid") == "valid"


def test_numbers() -> None:
    attrs = Attributes({"eps": "1e-05", "dim": "-1", "axis": "1.0"})
    assert attrs.real("eps") == 1e-5
    assert attrs.integer("dim") == -1
    assert attrs.integer("axis") == 1


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("maybe", lambda attrs: attrs.flag("x")),
        ("1.5", lambda attrs: attrs.integer("x")),
        ("inf", lambda attrs: attrs.integer("x")),
        ("nan", lambda attrs: attrs.real("x")),
        ("three", lambda attrs: attrs.real("x")),
        ("(1, None)", lambda attrs: attrs.integers("x")),
        ("(1.5,)", lambda attrs: attrs.integers("x")),
        ("(1", lambda attrs: attrs.integers("x")),
        ("[" * 10_000, lambda attrs: attrs.integers("x")),
        ("__import__('os')", lambda attrs: attrs.integers("x")),
        ("sum", lambda attrs: attrs.text("x", "max", ("max", "avg"))),
    ],
)
def test_another_text_is_an_error_that_names_it(
    text: str, read: Callable[[Attributes], Any]
) -> None:
    fails("attribute x must be", read, Attributes({"x": text}))


def test_a_missing_attribute_without_default_is_an_error() -> None:
    fails("attribute kernel is missing", Attributes({}).integers, "kernel")
