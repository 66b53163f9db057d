"""Extends Django's backend for PostgreSQL: its pool gives each thread a turn in the order of
arrival."""
