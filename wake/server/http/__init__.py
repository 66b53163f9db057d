"""Stands between the HTTP server and the views."""
