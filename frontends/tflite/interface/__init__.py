"""A model from outside: its inputs and outputs, their meaning, its signatures."""
