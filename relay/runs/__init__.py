"""Queues the runs of an agent's command, and knows which connectors are there to execute them."""
