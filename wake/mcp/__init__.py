"""Serves the Model Context Protocol at /mcp. An MCP agent needs only the address and a key."""
