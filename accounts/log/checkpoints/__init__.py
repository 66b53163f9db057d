"""Signs checkpoints of the log. A checkpoint is a note, which tools for other logs can read,
too."""
