"""Registers agents, issues their keys and secrets, and limits their deliveries."""
