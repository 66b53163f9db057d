"""Defines the requests of the SDK, where they go, and when they are repeated."""
