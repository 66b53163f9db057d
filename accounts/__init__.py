"""Holds people, teams, agents and keys, and the audit of what each of them did."""
