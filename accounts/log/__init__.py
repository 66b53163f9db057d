"""Keeps the log: one Merkle tree over the events of the audit and the receipts of all teams."""
