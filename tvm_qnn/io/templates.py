"""Fills templates of texts, such as C files and parts of pages."""

import re
from collections.abc import Mapping
from importlib.resources import files
from string import Template
from typing import Any

_BLOCK = re.compile(r"^%(if|unless|each) (\w+)\n(.*?)^%end \2\n", re.MULTILINE | re.DOTALL)
_INCLUDE = re.compile(r"^%include (\S+)\n", re.MULTILINE)


def filled(package: str, name: str, facts: Mapping[str, Any]) -> str:
    """Return a template's text with facts in place of their ``${names}``.

    Lines from ``%if fact`` to ``%end fact`` stay if the fact is true, those from ``%unless fact``
    if it is not. Those from ``%each fact`` are there once for each item of the fact, whose own
    facts they name, too. ``%include name`` stands for the lines of another template.

    Args:
        package: the package whose folder ``templates`` has the template.
        name: the template's name.
        facts: texts, numbers, truth values and lists of items, by name.
    """
    return _filled(_read(package, name), facts)


def _read(package: str, name: str) -> str:
    text = files(package).joinpath("templates", name).read_text("utf-8")
    return _INCLUDE.sub(lambda found: _read(package, found[1]), text)


def _filled(text: str, facts: Mapping[str, Any]) -> str:
    parts, end = [], 0
    for found in _BLOCK.finditer(text):
        parts.append(Template(text[end : found.start()]).substitute(facts))
        kind, name, lines = found.groups()
        items = facts[name] if kind == "each" else [{}] * (bool(facts[name]) == (kind == "if"))
        parts += [_filled(lines, {**facts, **item}) for item in items]
        end = found.end()
    return "".join([*parts, Template(text[end:]).substitute(facts)])
