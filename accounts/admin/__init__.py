"""Adds pages to Django's admin: for people, passkeys, agents, keys, gate keys, the audit, and the
checkpoints of the log."""

from accounts.admin import agents, checkpoints, gates, passkeys, people

__all__ = ["agents", "checkpoints", "gates", "passkeys", "people"]
