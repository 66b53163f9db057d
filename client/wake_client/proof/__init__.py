"""Verifies receipts of answers and their proofs (the server's docs/receipts.md and docs/log.md)."""
