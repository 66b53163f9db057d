"""Does the same work as Wake in less code, for comparison."""
