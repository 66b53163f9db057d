"""Registers people, teams, agents, keys and the audit in Django's admin."""

from accounts.admin import agents, people

__all__ = ["agents", "people"]
