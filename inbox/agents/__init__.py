"""Shows agents to people. Owners register agents and manage keys, secrets and limits."""
