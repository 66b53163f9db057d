"""Shows callbacks and their attempts; owners allow the hosts that receive them."""
