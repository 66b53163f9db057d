"""Sends the events of a task to its caller as they happen."""
