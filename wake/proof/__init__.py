"""Proves what was approved: the digest of a delivery binds an answer to its exact content."""
