"""The Model Context Protocol at /mcp: an agent that speaks it needs the address and a key only."""
