"""The cost model of AMX's tiles: layers to measure, and the model's fit to their times."""
