"""The graph of a model: nodes, constants, and the shapes that follow."""
