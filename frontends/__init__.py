"""Importers: model files become modules of quantized Relax operators."""
