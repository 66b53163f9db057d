"""Writes the JSON Schemas of the tools, for what they take and for what they return."""
