"""The names of the programs of a demonstration, as its tables have them."""

from __future__ import annotations

OURS, THEIRS = "tvm-qnn", "LiteRT (XNNPACK)"
