"""Stores the content of tasks: large files, the turns of a conversation, JSON in rows."""
