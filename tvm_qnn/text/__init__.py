"""Language models: generate text token by token, with the keys and values of past tokens."""
