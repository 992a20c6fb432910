"""Convolutions and dense layers on microcontrollers."""
