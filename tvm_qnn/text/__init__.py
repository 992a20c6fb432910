"""Text, token by token: models that keep the keys and values of what they have read."""
