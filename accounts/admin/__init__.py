"""Adds pages to Django's admin: for people, passkeys, the directory, agents, keys, gate keys,
clients, the audit, and the checkpoints of the log."""

from accounts.admin import agents, checkpoints, clients, directory, gates, passkeys, people

__all__ = ["agents", "checkpoints", "clients", "directory", "gates", "passkeys", "people"]
