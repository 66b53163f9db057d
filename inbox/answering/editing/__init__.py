"""Lets people edit what an agent sent, and shows what the edit changes."""
