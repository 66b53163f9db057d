"""Serves A2A calls over JSON-RPC."""
