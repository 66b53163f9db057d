"""Reads the settings from the environment, by subject. wake/settings.py has the remaining
settings."""
