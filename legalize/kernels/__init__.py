"""Operators as functions for one instruction set; table.py chooses by the target's features."""
