"""Convolutions and dense layers on x86."""
