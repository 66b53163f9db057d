"""Shows how to connect an agent, up to its first delivery."""
