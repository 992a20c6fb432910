"""The interface of a model: its inputs and outputs, their meaning, its signatures."""
