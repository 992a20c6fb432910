"""Counting the instructions of emulated ARM processors."""
