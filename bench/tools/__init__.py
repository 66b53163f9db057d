"""Starts servers, sends requests to them and prints the costs."""
