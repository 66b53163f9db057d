"""Looks before an upgrade for what would stop it, and for what people would notice of it."""
