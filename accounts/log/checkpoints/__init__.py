"""Signs checkpoints of the log, as notes that tools for other logs read, too."""
