"""Defines the version of this package, as pyproject.toml states it."""

__version__ = "0.3.0"
