"""Windows that slide over images: convolutions and pools."""
