"""Shows agents to people; owners register them and look after keys, secrets and limits."""
