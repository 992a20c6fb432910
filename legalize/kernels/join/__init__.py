"""Concatenations and functions of a byte."""
