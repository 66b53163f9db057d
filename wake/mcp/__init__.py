"""Serves the Model Context Protocol at /mcp: an agent that speaks it needs only the address and a
key."""
