"""Shows when agents continue without an answer, before it happens and afterwards."""
