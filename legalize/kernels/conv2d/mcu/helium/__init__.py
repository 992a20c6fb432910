"""Convolutions and dense layers with Helium, the vectors of Cortex-M55 and M85."""
