"""Contains people, teams, agents and keys, and the audit of their actions."""
