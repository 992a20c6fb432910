"""The integers of each framework: roundings, scales, bounds and sums."""
