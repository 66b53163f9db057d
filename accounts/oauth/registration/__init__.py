"""Registers clients, and reads what clients say of themselves."""
