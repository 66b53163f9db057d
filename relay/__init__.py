"""Makes agents on any machine reachable over A2A. Their questions go to the same inbox."""
