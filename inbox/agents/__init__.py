"""Shows agents to people. Owners register them and manage keys, secrets and limits."""
