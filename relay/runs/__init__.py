"""Queues the runs of an agent's command, and tracks which connectors are online to execute them."""
