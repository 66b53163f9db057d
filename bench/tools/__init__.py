"""Starts servers, sends requests to them and prints what that cost."""
