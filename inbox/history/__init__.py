"""Lists the deliveries that ended, and how."""
