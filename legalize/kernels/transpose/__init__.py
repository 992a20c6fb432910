"""Transposition."""
