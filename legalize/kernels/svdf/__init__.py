"""Filters over time of low rank (SVDF): what they remember, and what that gives."""
