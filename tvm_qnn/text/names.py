"""The names of inputs and outputs by which a decoder knows a step's tensors."""

IDS, MASK, PLACES, LOGITS = "input_ids", "attention_mask", "position_ids", "logits"
PAST, PRESENT = "past_key_values.", "present."
COLUMNS = ".columns"
"""The end of a past's name if its tokens are the last axis."""
NEW = ".new"
"""The end of a result's name if it only has the step's own tokens."""
