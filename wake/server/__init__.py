"""Hosts the server: environment, checks, health, logs and static files."""
