"""Compares two versions of a text or of JSON, within a limit of steps, and shows the changes."""
