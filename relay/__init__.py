"""Makes agents on any machine reachable over A2A. The agents' questions go to the same inbox."""
