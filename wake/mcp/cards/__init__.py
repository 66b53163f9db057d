"""Shows a question as a card inside the client (MCP Apps, revision 2026-01-26, formerly SEP-1865).

The card shows the question and its state, and a link to its page. It calls no tool, so nothing is
decided there. Only clients that declare the extension get anything of it.
"""
