"""Shows one delivery: its thread, its revisions and its timeline."""
