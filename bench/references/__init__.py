"""Does the same work as Wake with less around it, for comparison."""
