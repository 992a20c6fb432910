"""Operators as functions for one instruction set, chosen by what the target can do: table.py."""
