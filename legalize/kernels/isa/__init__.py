"""Instruction sets and their instructions; no operator is known here."""
