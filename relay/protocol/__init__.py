"""Reads and writes A2A on the wire: JSON-RPC, and the dialects 1.0 and 0.3."""
