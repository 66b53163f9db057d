"""Changes passwords, and resets forgotten ones by mail."""
