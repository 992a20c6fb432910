"""Convolutions and dense layers on ARM."""
