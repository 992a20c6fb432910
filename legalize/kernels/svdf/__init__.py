"""Filters over time of low rank (SVDF): their states and their outputs."""
