"""Lists what waits for a person, in four sections."""
