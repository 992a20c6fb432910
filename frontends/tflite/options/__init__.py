"""The operators' options, as the TFLite schema's tables of options state them."""
