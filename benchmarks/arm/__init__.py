"""Counts of the instructions of emulated ARM processors."""
