"""Small kernels by Winograd's transform."""
