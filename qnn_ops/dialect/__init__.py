"""How an operator is declared: its attributes, its checks, its type rule, and its entry in TVM."""
