"""The declaration of an operator: its attributes, checks, type rule, and entry in TVM."""
