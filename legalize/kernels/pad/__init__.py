"""Padding."""
