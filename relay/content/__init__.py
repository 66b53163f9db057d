"""Stores what was said and made in tasks: large files, the turns of a conversation, JSON in
rows."""
