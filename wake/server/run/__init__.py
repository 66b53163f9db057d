"""Runs the server's processes for `manage.py up`."""
