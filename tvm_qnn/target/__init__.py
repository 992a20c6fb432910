"""Targets and what their code needs; machine code, object files and linkers."""
