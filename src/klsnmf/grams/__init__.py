"""How K @ V is done: one contract, several kinds of matrix."""
