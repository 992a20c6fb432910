"""The model of times in AMX's tiles: layers to measure, and its fit to their times."""
