"""Sums of products of bytes by vpmaddubsw."""
