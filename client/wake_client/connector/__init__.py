"""Runs an agent's command on this machine for each task that comes over the relay."""
