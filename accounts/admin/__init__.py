"""Registers people, their passkeys, agents, keys and the audit in Django's admin."""

from accounts.admin import agents, passkeys, people

__all__ = ["agents", "passkeys", "people"]
