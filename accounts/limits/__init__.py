"""Limits how often people, agents and callers may send requests."""
