"""Kernels for x86: convolution and dense layers with AVX512-VNNI."""
