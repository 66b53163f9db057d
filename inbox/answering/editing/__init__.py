"""Lets people edit an agent's content, and shows the changes."""
