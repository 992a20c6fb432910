"""Targets and the needs of their code; machine code, object files and linkers."""
