"""Talks to connectors (`wake connect`) over WebSocket and long polls."""
