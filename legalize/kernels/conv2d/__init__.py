"""Convolutions and dense layers."""
