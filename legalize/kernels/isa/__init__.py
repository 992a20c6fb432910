"""Instruction sets and their instructions. These files know no operator."""
