"""Adds, checks and removes passkeys (WebAuthn)."""
