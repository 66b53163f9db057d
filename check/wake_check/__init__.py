"""Judges whether a server implements the WAKE protocol: `wake-check URL`."""

__version__ = "0.3.0"
