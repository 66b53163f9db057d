"""Holds how the server is hosted: environment, checks, health, logs and static files."""
