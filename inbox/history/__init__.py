"""Lists the deliveries that ended, and how they ended."""
